-- The user has typed in what a turn changed, tries to undo that, and restores the turn.
return function(drive)
  local record = drive.record
  local poem = drive.open("poem.txt")
  drive.command("Handrail go", " landed")
  vim.fn.cursor(3, 1)
  drive.press(poem, "A!<Esc>")
  drive.command("HandrailUndo", "0 changes undone")
  vim.cmd("HandrailMessages")
  record.undo = drive.text(0)
  vim.cmd("close")
  vim.cmd("buffer " .. poem)
  drive.choose("go")
  drive.command("HandrailRestore", "was not restored")
  record.window = drive.text(0)
  record.after = drive.snapshot()
  vim.cmd("HandrailMessages")
  record.in_full = drive.text(0)
end
