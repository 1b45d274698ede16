-- Run one turn, write, restore it, write again.
return function(drive)
  local record = drive.record
  drive.open(drive.values.open)
  drive.command("Handrail go", " landed")
  vim.cmd.wall()
  record.written = drive.snapshot()
  drive.choose("go")
  drive.command("HandrailRestore", "restored")
  vim.cmd.wall()
  record.rewritten = drive.snapshot()
end
