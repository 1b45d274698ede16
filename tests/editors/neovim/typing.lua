-- Stay in insert mode at the document's end and go on typing, a word before and after each edit; restore.
return function(drive)
  local poem = drive.open("poem.txt")
  vim.api.nvim_input("Go")
  drive.await("insert mode", function()
    return vim.api.nvim_get_mode().mode == "i" and vim.api.nvim_buf_line_count(poem) == drive.values.lines
  end)
  local is_typing = true
  local function type_word(word)
    return function(number)
      if is_typing then
        vim.api.nvim_input(word .. number .. " ")
      end
    end
  end
  drive.around_edits(type_word("before"), type_word("after"))
  drive.command("Handrail go", " landed")
  is_typing = false
  drive.press(poem, "end<Esc>")
  drive.record.after = drive.snapshot()
  drive.choose("go")
  drive.command("HandrailRestore", "restored")
  drive.record.restored = drive.snapshot()
end
