-- A server for Python stands beside handrail, and finds fault with what a turn writes.
return function(drive)
  local record, values = drive.record, drive.values
  vim.lsp.config("ruff", { cmd = { values.ruff, "server" }, filetypes = { "python" }, root_dir = vim.fn.getcwd() })
  vim.lsp.enable("ruff")
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
  drive.command("Handrail go", "did not land")
  vim.cmd.wall()
  record.written = drive.snapshot()
end
