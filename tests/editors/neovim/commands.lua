-- One conversation by the commands of our file, on a screen: nothing waits for ENTER.
return function(drive)
  local values, record = drive.values, drive.record
  local poem = drive.open("poem.txt")
  record.status = {}
  local function status(wanted)
    drive.await("the status " .. wanted, function()
      return HandrailStatus():find(wanted, 1, true)
    end)
    table.insert(record.status, HandrailStatus())
  end
  local function is_open()
    return vim.api.nvim_buf_get_name(0):find("chat%-") and #vim.lsp.get_clients({ name = "handrail", bufnr = 0 }) == 1
  end
  local function marks(buffer)
    local found = {}
    for name, space in pairs(vim.api.nvim_get_namespaces()) do
      local shown = name:find("codelens") and vim.api.nvim_buf_get_extmarks(buffer, space, 0, -1, { details = true })
      for _, mark in ipairs(shown or {}) do
        for _, chunk in ipairs(mark[4].virt_text or {}) do
          table.insert(found, chunk[1])
        end
      end
    end
    return table.concat(found)
  end
  status("idle")

  -- The conversation is opened, ready to write, with keys, lenses and folds.
  drive.type(":Handrail<CR>", is_open)
  local chat = vim.api.nvim_get_current_buf()
  record.place = { vim.api.nvim_win_get_cursor(0)[1], vim.api.nvim_buf_line_count(chat) }
  record.options = { vim.bo[chat].autoread, vim.wo.foldexpr, #vim.fn.maparg("\\x", "n") > 0 }
  drive.press(chat, "A" .. values.prompt .. "<Esc>")
  drive.await("the lens", function()
    return marks(chat):find("Send", 1, true)
  end)

  -- It is sent by a key; what the turn does is in the status.
  drive.type("\\s", function()
    return drive.text(chat):find(values.pieces[1], 1, true)
  end)
  status("thinking")
  drive.await("the lens", function()
    return marks(chat):find("Stop", 1, true)
  end)
  drive.go_on()
  drive.go_on()
  status("waiting for you")
  record.banner = drive.banner()
  drive.answer()
  drive.say("yes<CR>", "commands changed")
  status("to review")

  -- The changes are gone through, one is undone, the others are kept.
  vim.cmd("buffer " .. poem)
  drive.say(":HandrailReview<CR>", "to review")
  record.listed = vim.tbl_map(function(entry)
    return { entry.lnum, entry.text }
  end, vim.fn.getqflist())
  vim.cmd("cc")
  vim.cmd("cnext")
  record.at = vim.api.nvim_win_get_cursor(0)[1]
  drive.say(":HandrailUndo<CR>", "1 change undone")
  drive.await("the list to know", function()
    return vim.fn.getqflist()[2].valid == 0
  end)
  vim.cmd("cnext")
  record.at_next = vim.fn.expand("%")
  drive.say(":HandrailUndo<CR>", "1 change undone")
  drive.press(poem, "u") -- Neovim's own undo brings it back
  vim.cmd("copen")
  drive.say(":1HandrailKeep<CR>", "1 change kept") -- in the list
  vim.cmd("wincmd p | buffer " .. poem)
  drive.say(":%HandrailKeep<CR>", "1 change kept")
  drive.say(":HandrailKeep<CR>", "nothing to review here")
  vim.cmd("cclose")
  record.reviewed = drive.snapshot()
  status("idle")

  -- A selection is asked about in the conversation, and something is said from elsewhere.
  vim.cmd("buffer " .. poem)
  vim.cmd("only")
  vim.fn.cursor(2, 1)
  drive.type("vj$", function()
    return vim.api.nvim_get_mode().mode == "v"
  end)
  drive.type(":Handrail<CR>", is_open)
  record.quoted = drive.text(chat)
  drive.press(chat, "AWhy?<Esc>")
  local known = #record.messages
  vim.cmd("HandrailSend")
  drive.await_message(values.why, known)
  vim.cmd("only | buffer " .. poem)
  drive.say(":3Handrail And this line?<CR>", values.line)

  -- A turn is stopped that was begun in the conversation.
  drive.type(":Handrail<CR>", is_open)
  drive.press(chat, "ATalk on.<Esc>")
  drive.choose("Send")
  vim.lsp.buf.code_action()
  status("thinking")
  drive.await("the beginning of the answer", function() -- else the model may not have been asked yet
    return drive.text(chat):find("And on,", 1, true)
  end)
  drive.type("\\x", function()
    return record.messages[#record.messages]:find("handrail: stopped", 1, true)
  end)
  drive.say(":HandrailStop<CR>", "nothing is running")

  -- A turn is taken back, once it was seen what it has changed.
  local preview
  vim.ui.select = function(items, options, use)
    if options.prompt == "Undo:" then
      record.checkpoints = vim.tbl_map(options.format_item, items)
      record.time = items[1].time
      use(items[1])
    else
      preview = drive.text(0)
      use(items[2])
    end
  end
  drive.say(":HandrailRestore<CR>", "restored")
  record.preview = preview
  record.restored = drive.snapshot()
  vim.ui.select = function(items, options)
    record.then_listed = vim.tbl_map(options.format_item, items)
  end
  vim.cmd("HandrailRestore")
  drive.await("the restore to be listed", function()
    return record.then_listed
  end)

  -- The killed server is started again, and the same conversation goes on.
  known = #record.messages
  drive.kill_servers()
  drive.await_message("the server was restarted", known)
  record.ended = record.messages[known + 1]
  drive.type(":Handrail<CR>", is_open)
  record.same = vim.api.nvim_get_current_buf() == chat
  drive.say(":Handrail Are you there?<CR>", values.last)
  record.last = drive.text(chat)

  drive.type(":HandrailNew<CR>", function()
    return is_open() and vim.api.nvim_get_current_buf() ~= chat
  end)
  record.sessions = drive.choose(values.prompt)
  drive.type(":HandrailSessions<CR>", function()
    return vim.api.nvim_get_current_buf() == chat
  end)
  drive.type(":HandrailReview!<CR>", function()
    return vim.api.nvim_buf_get_name(0):find("review.md", 1, true)
  end)
  record.mode = vim.api.nvim_get_mode().mode
end
