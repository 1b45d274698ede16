-- The file of a conversation with a draft is written elsewhere, within the second in which it was read.
return function(drive)
  local record = drive.record
  vim.cmd("Handrail")
  drive.await("the conversation", function()
    return vim.api.nvim_buf_get_name(0):find("chat%-") and #vim.lsp.get_clients({ bufnr = 0 }) == 1
  end)
  local chat, path = vim.api.nvim_get_current_buf(), vim.api.nvim_buf_get_name(0)
  local lines = vim.fn.readfile(path)
  local function write_elsewhere(text, fraction)
    vim.fn.writefile(text, path)
    vim.uv.fs_utime(path, 0, vim.fn.getftime(path) + fraction)
  end
  drive.press(chat, "Aa draft<Esc>")
  vim.cmd("enew")
  write_elsewhere(vim.list_extend({ "Written elsewhere." }, lines), 0.25)
  vim.cmd("buffer " .. chat)
  record.shown_again = drive.text(chat)
  vim.cmd("doautocmd QuitPre")
  record.is_modified = vim.bo[chat].modified
  record.file = table.concat(vim.fn.readfile(path), "\n")

  -- Written again, with nothing that is not here too.
  write_elsewhere(lines, 0.5)
  vim.cmd("doautocmd QuitPre")
  record.is_modified_then = vim.bo[chat].modified
  record.file_then = table.concat(vim.fn.readfile(path), "\n")
end
