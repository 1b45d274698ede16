-- Type words between the edits of a turn, then undo all, step by step, and do it all again.
return function(drive)
  local record = drive.record
  local poem = drive.open("poem.txt")
  local were = { [drive.text(poem)] = true }
  vim.api.nvim_buf_attach(poem, false, {
    on_lines = function()
      if not record.typed then
        were[drive.text(poem)] = true
      end
    end,
  })
  vim.api.nvim_input("Go")
  drive.await("insert mode", function()
    return vim.api.nvim_get_mode().mode == "i" and vim.api.nvim_buf_line_count(poem) == drive.values.lines
  end)
  drive.around_edits(function() end, function(number)
    vim.api.nvim_input(("word%d<CR>more%d "):format(number, number))
  end)
  drive.command("Handrail go", " landed")
  drive.press(poem, "end<Esc>")
  record.typed = drive.text(poem)

  local function step(key)
    local before = drive.text(poem)
    vim.api.nvim_input(key .. "<Cmd>let g:stepped = 1<CR>")
    drive.await(key, function()
      return vim.g.stepped == 1
    end)
    vim.g.stepped = 0
    return drive.text(poem) ~= before
  end
  record.undone, record.never = {}, {}
  while step("u") do
    local text = drive.text(poem)
    table.insert(were[text] and record.undone or record.never, text)
  end
  while step("<C-r>") do
  end
  record.redone = drive.text(poem)
end
