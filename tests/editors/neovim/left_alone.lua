-- A question is left alone for ten minutes, and then until its time is over.
return function(drive)
  local record = drive.record
  drive.open("poem.txt")
  local client = vim.lsp.get_clients({ name = "handrail" })[1]

  vim.cmd("Handrail go")
  drive.await("the question", drive.banner)
  drive.pass_time(600)
  drive.await("the reminder", function()
    local progress = vim.lsp.status()
    record.reminder = progress:find("min left") and progress or record.reminder
    return record.reminder and record.reminder:find("50 min left", 1, true)
  end)
  record.left = drive.request(client, "approval/list")
  record.banner, record.screen = drive.banner(), drive.screen()

  -- Its time is over while an answer can be typed, and while all of it is shown.
  drive.answer()
  record.question = drive.text(0)
  drive.pass_time(3600)
  drive.await("the question's end", function()
    return not drive.banner()
  end)
  drive.say("yes<CR>", "that question has ended")
  record.late = record.messages[#record.messages]
  drive.await_message("It ran.", 0)
  record.open = drive.request(client, "approval/list")
  record.shown_after = vim.fn.bufexists("handrail://question") == 1
  drive.say(":HandrailAnswer<CR>", "no question is waiting for you")
  record.problem_of_late_answer = select(
    2,
    drive.request(client, "approval/answer", { approval = record.left[1].id, choice = "allow" })
  )
  record.ran = vim.fn.filereadable("ran.txt") == 1
end
