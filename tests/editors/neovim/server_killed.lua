-- The server is killed while a question is open, and while an answer to it is typed.
return function(drive)
  local record = drive.record
  drive.open("poem.txt")

  vim.cmd("Handrail go")
  drive.await("the question", drive.banner)
  drive.answer()
  drive.kill_servers()
  drive.await("the question's end", function()
    return not drive.banner()
  end)
  drive.say("yes<CR>", "that question has ended")
  drive.say(":HandrailAnswer<CR>", "no question is waiting for you")
  record.shown_after = vim.fn.bufexists("handrail://question") == 1
  drive.say(":HandrailStop<CR>", "nothing is running")
  record.ran = vim.fn.filereadable("ran.txt") == 1

  -- Another server runs, and knows nothing of the question.
  drive.await_message("the server was restarted", 0)
  local client = vim.lsp.get_clients({ name = "handrail", bufnr = vim.fn.bufnr("poem.txt") })[1]
  record.open = drive.request(client, "approval/list")
  record.ran_later = vim.fn.filereadable("ran.txt") == 1
  vim.cmd("Handrail go")
  drive.await("the question", drive.banner)
  drive.answer()
  drive.say("yes<CR>", "It ran.")
  record.ran_at_last = vim.fn.filereadable("ran.txt") == 1
end
