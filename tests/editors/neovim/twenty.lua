-- Twenty questions at once: each is shown and answered by itself, every second one with a yes.
return function(drive)
  local record = drive.record
  drive.open("poem.txt")
  vim.cmd("Handrail go")
  drive.await("all questions", function()
    return (drive.banner() or ""):find("(20)", 1, true)
  end)
  record.complete, record.offered = {}, {}
  for number = 20, 1, -1 do
    local name = ("ran-%02d"):format(number)
    local offered = drive.choose(name)
    drive.answer()
    record.offered[number] = #offered
    table.insert(record.complete, drive.text(0):find("touch " .. name, 1, true) ~= nil)
    vim.api.nvim_input(number % 2 == 0 and "yes<CR>" or "no<CR>")
    drive.await("the end of question " .. number, function()
      return number == 1 and not drive.banner() or (drive.banner() or ""):find(("(%d)"):format(number - 1), 1, true)
    end)
  end
  drive.await("the turn's end", function()
    return #record.messages > 0 and record.messages[#record.messages]:find("commands changed", 1, true)
  end)
end
