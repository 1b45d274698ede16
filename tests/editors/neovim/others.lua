-- Another server has Markdown, handrail is set up for one file type only, and Neovim begins without a file.
return function(drive)
  local record = drive.record
  vim.g.handrail_keys = false
  local capabilities = { codeLensProvider = { resolveProvider = true }, foldingRangeProvider = true }
  vim.lsp.config("marksman", {
    filetypes = { "markdown" },
    cmd = function()
      return {
        request = function(method, _, answer)
          answer(nil, method == "initialize" and { capabilities = capabilities } or {})
          return true, 1
        end,
        notify = function()
          return true
        end,
        is_closing = function()
          return false
        end,
        terminate = function() end,
      }
    end,
  })
  vim.lsp.enable("marksman")

  record.status = { HandrailStatus() }
  vim.cmd("Handrail")
  table.insert(record.status, HandrailStatus())
  local function names()
    local found = vim.tbl_map(function(client)
      return client.name
    end, vim.lsp.get_clients({ bufnr = 0 }))
    table.sort(found)
    return found
  end
  drive.await("both servers", function()
    return vim.api.nvim_buf_get_name(0):find("chat%-") and #names() == 2
  end)
  record.names = names()
  record.folder = vim.fn.expand("%:p:h")
  table.insert(record.status, HandrailStatus())
  record.keys = vim.fn.maparg("\\s", "n")
  local chat = vim.api.nvim_get_current_buf()
  drive.press(chat, "Ahello<Esc>")
  vim.cmd("HandrailSend")
  drive.await_message("Done.", 0)
  drive.await("the answer, and nothing left to send", function()
    local text = drive.text(chat)
    return text:find("Done.", 1, true) ~= nil and text:match("## You%s*$") ~= nil
  end)

  -- Its file type is set again, which has Neovim let go of servers that do not want it; then it is shown anew.
  vim.bo[chat].filetype = "markdown"
  vim.cmd("enew")
  vim.cmd("buffer " .. chat)
  drive.await("both servers", function()
    return #names() == 2
  end)
  record.again = names()
  vim.cmd("HandrailSend")
  drive.await_message("The message is empty", 0)
  drive.press(chat, "GAa draft<Esc>")
  vim.cmd("doautocmd QuitPre")
  record.written = not vim.bo[chat].modified and table.concat(vim.fn.readfile(vim.api.nvim_buf_get_name(chat)), "\n")
end
