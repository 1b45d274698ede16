-- A question waits while keys are pressed, is shown, and takes only words that are typed in full.
return function(drive)
  local record = drive.record
  local poem = drive.open("poem.txt")

  local banner = drive.banner
  local function has_run()
    return vim.fn.filereadable("ran.txt") == 1
  end
  local function typed(keys, holds)
    local known = #record.messages
    vim.api.nvim_input(keys)
    drive.await(keys, holds or function()
      return #record.messages > known and vim.api.nvim_get_mode().mode == "n"
    end)
  end

  vim.cmd("Handrail go")
  drive.await("the question", banner)
  vim.api.nvim_input("<CR><CR>1<CR>2<Esc>3y<Esc>")
  drive.press(poem, "ggOtyped<Esc>")
  record.banner, record.mode, record.waits = banner(), vim.api.nvim_get_mode().mode, drive.screen()

  record.answers = {}
  for _, keys in ipairs({ "<CR>", "1<CR>", "2<CR>", "y<CR>", "allow<CR>", "yes <CR>", "<Esc>" }) do
    typed(":HandrailAnswer<CR>", function()
      return vim.api.nvim_get_mode().mode == "c" and vim.fn.getcmdline() == ""
    end)
    typed(keys)
    table.insert(record.answers, record.messages[#record.messages])
  end
  record.question = drive.text(0)
  record.unanswered = not has_run() and banner() ~= nil
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  record.screen = drive.screen()

  vim.api.nvim_input(":HandrailAnswer<CR>yes<CR>")
  drive.await("the command to run", has_run)
  drive.await("the turn's end", function()
    return record.messages[#record.messages]:find("commands changed")
  end)
  record.ended, record.gone, record.after = vim.api.nvim_get_mode().mode, banner() == nil, drive.screen()

  vim.fn.delete("ran.txt")
  vim.cmd("Handrail go")
  drive.await("the question", banner)
  vim.cmd("HandrailStop")
  drive.await("the turn's end", function()
    return record.messages[#record.messages]:find("handrail: stopped", 1, true)
  end)
  record.stopped = not has_run() and banner() == nil
end
