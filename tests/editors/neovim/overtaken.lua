-- The user changes the document just before Neovim gets the first edit, or just after it has applied it;
-- the server learns of it only later.
return function(drive)
  local values = drive.values
  local poem = drive.open("poem.txt")
  if not values.fresh then
    drive.press(poem, "x") -- so that the document has a version other than 0
    drive.press(poem, "u")
  end
  local function type_at(moment)
    return function(number)
      if number == 1 and values.moment == moment then
        vim.api.nvim_buf_set_text(poem, values.line, 0, values.line, 0, values.text)
      end
    end
  end
  drive.around_edits(type_at("before"), type_at("after"))
  drive.command("Handrail go", " landed")
  drive.record.after = drive.snapshot()
  if values.restore then
    drive.choose("go")
    drive.command("HandrailRestore", "restored")
    drive.record.restored = drive.snapshot()
  end
end
