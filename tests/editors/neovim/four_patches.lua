-- See what a turn left, mend the edit that failed, undo that, write, restore the turn, write again.
return function(drive)
  local values, record = drive.values, drive.record
  local prices = drive.open("prices.py")
  local notes = drive.open("notes.txt")
  drive.press(notes, "ggO" .. values.typed .. "<Esc>")
  record.before = drive.snapshot()

  drive.command("Handrail " .. values.prompt, " landed")
  drive.await("the diagnostic", function()
    return #vim.diagnostic.get(prices) > 0
  end)
  record.after = drive.snapshot()

  vim.api.nvim_set_current_buf(prices)
  vim.api.nvim_win_set_cursor(0, { vim.diagnostic.get(prices)[1].lnum + 1, 0 })
  local before = drive.text(prices)
  record.actions = drive.choose(values.action)
  vim.lsp.buf.code_action()
  drive.await("the quick fix", function()
    return drive.text(prices) ~= before and #vim.diagnostic.get(prices) == 0
  end)
  record.mended = drive.snapshot()

  drive.press(prices, "u")
  record.undone = drive.snapshot()
  vim.cmd.wall()
  record.written = drive.snapshot()

  record.checkpoints = drive.choose(values.prompt)
  drive.command("HandrailRestore", "restored")
  record.restored = drive.snapshot()
  vim.cmd.wall()
  record.rewritten = drive.snapshot()
end
