-- Type in one change, undo another one, comment on a third in the review document, send, commit.
return function(drive)
  local values, record = drive.values, drive.record
  local poem = drive.open("poem.txt")
  drive.press(poem, "ggO" .. values.typed .. "<Esc>")
  local price = drive.open("price.txt")

  local function act(wanted, what, holds)
    local offered = drive.choose(wanted)
    vim.lsp.buf.code_action()
    drive.await(what, holds)
    return offered
  end
  local function file(name)
    return table.concat(vim.fn.readfile(name), "\n")
  end

  drive.command("Handrail " .. values.prompt, "5 edits landed")
  record.landed = drive.snapshot()

  vim.api.nvim_set_current_buf(poem)
  vim.api.nvim_win_set_cursor(0, { 3, 0 })
  drive.press(poem, "A" .. values.inside .. "<Esc>")

  vim.api.nvim_set_current_buf(price)
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  local loud = drive.text(price)
  record.actions = act("Undo this change (", "the undo", function()
    return drive.text(price) ~= loud
  end)

  vim.api.nvim_set_current_buf(poem)
  act("Open the review document", "the review document", function()
    return vim.api.nvim_buf_get_name(0):find("review.md", 1, true)
      and #vim.lsp.get_clients({ name = "handrail", bufnr = 0 }) == 1
  end)
  local review = vim.api.nvim_get_current_buf()
  drive.await("the review document to show what was undone", function()
    return not drive.text(review):find("price.txt", 1, true)
  end)
  record.review = drive.text(review)
  vim.fn.search("+THIRD")
  vim.cmd.normal({ "j", bang = true })
  drive.press(review, "o" .. values.comment .. "<Esc>")
  record.sends = act("Send this comment", "the answer", function()
    return drive.text(review):find("This was answered in", 1, true) and file("note.txt"):find("!!!", 1, true)
  end)
  record.answered = drive.text(review)

  vim.cmd.wall()
  record.written = drive.snapshot()
  record.git = vim.fn.system({ "git", "commit", "-qam", "loud" })
  drive.await("what was committed to be kept", function()
    return drive.text(review):find("No changes are pending", 1, true)
  end)
  record.committed = drive.text(review)
end
