-- handrail in Neovim 0.11: copy this into init.lua.
vim.lsp.config("handrail", {
  cmd = { "handrail", "serve" },
  root_dir = function(buffer, start)
    start(vim.fs.root(buffer, ".git") or vim.fn.getcwd())
  end,
})
vim.lsp.enable("handrail")

-- Neovim attaches servers by file type: a file of no known type is text.
vim.api.nvim_create_autocmd("BufWinEnter", {
  callback = function(entered)
    local buffer = vim.bo[entered.buf]
    if entered.file ~= "" and buffer.buftype == "" and buffer.filetype == "" then
      buffer.filetype = "text"
    end
  end,
})

-- :Handrail        apply the edits of the reply in the clipboard
-- :Handrail TEXT   ask the model
-- :Handrail!       choose a checkpoint and restore it
vim.api.nvim_create_user_command("Handrail", function(command)
  local client = vim.lsp.get_clients({ name = "handrail", bufnr = 0 })[1]
  if not client then
    return vim.notify("handrail does not serve this buffer", vim.log.levels.ERROR)
  end
  local function request(method, params, answered)
    client:request("handrail/" .. method, params, function(problem, result)
      if problem then
        vim.notify(problem.message, vim.log.levels.ERROR)
      else
        answered(result)
      end
    end)
  end
  local function restore(checkpoint)
    if checkpoint then
      request("checkpoint/restore", { checkpoint = checkpoint.id }, function(report)
        vim.notify(("handrail: %d documents restored"):format(#report.restored + #report.deleted))
      end)
    end
  end
  local function show(report)
    local function count(status)
      return #vim.tbl_filter(function(outcome)
        return outcome.status == status
      end, report.outcomes)
    end
    local said = report.answer ~= "" and report.answer or report.reason
    local denied = count("denied") > 0 and (", %d denied"):format(count("denied")) or ""
    local told = "%s\nhandrail: %d edits, %d did not land%s"
    vim.notify(told:format(said, #report.outcomes, count("failed"), denied))
  end

  if command.bang then
    local function label(checkpoint)
      return checkpoint.time .. "  " .. checkpoint.label
    end
    request("checkpoint/list", vim.empty_dict(), function(checkpoints)
      vim.ui.select(checkpoints, { prompt = "Restore:", format_item = label }, restore)
    end)
  else
    local prompt = command.args ~= "" and command.args or vim.fn.getreg("+")
    request("turn/start", { prompt = prompt }, function(turn)
      request("turn/wait", { turn = turn.turn }, show)
    end)
  end
end, { nargs = "*", bang = true })
