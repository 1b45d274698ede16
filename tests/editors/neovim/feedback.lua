-- Two servers for Python stand beside handrail, and find fault with what a turn writes: one is asked for what it
-- finds, the other one publishes it, and answers where names are defined and used.
return function(drive)
  local record, values = drive.record, drive.values
  vim.lsp.config("ruff", { cmd = { values.ruff, "server" }, filetypes = { "python" }, root_dir = vim.fn.getcwd() })
  vim.lsp.config("other", { cmd = values.other, filetypes = { "python" }, root_dir = vim.fn.getcwd() })
  vim.lsp.enable({ "ruff", "other" })
  drive.open("desk.py")
  local buffer = drive.open("shop.py")
  local function codes()
    return vim.tbl_map(function(each)
      return each.code
    end, vim.diagnostic.get(buffer))
  end
  drive.await("the first report", function()
    return #codes() > 0
  end)
  record.before = codes()
  drive.command("Handrail go", " landed")
  vim.cmd.wall()
  record.written = drive.snapshot()
end
