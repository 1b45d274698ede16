-- Run one turn, and look at what it left, at the cursor, and at what each undo leaves.
return function(drive)
  local values, record = drive.values, drive.record
  local buffer = drive.open(values.open)
  vim.api.nvim_win_set_cursor(0, values.cursor or { 1, 0 })
  drive.command(values.command, values.ended or " landed")
  record.encoding = vim.lsp.get_clients({ bufnr = buffer })[1].offset_encoding
  record.after = drive.snapshot()
  record.cursor = vim.api.nvim_win_get_cursor(0)
  record.undone = {}
  for _ = 1, values.undo or 0 do
    drive.press(buffer, "u")
    table.insert(record.undone, drive.text(buffer))
  end
  if values.last then
    vim.cmd.HandrailLast()
    record.last = drive.text(0)
    vim.cmd.close()
  end
  vim.cmd.wall()
  record.written = drive.snapshot()
end
