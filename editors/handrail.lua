-- handrail in Neovim 0.11: copy this into init.lua.
--
-- :Handrail          apply the edits of the reply in the clipboard
-- :Handrail TEXT     ask the model
-- :Handrail!         choose a checkpoint and restore it
-- :HandrailStop      stop what is running
-- :HandrailLast      show the last turn's answer, how it ended, and what did not land
-- :HandrailAnswer    show a question that waits for you in full, and answer it
-- :HandrailRules     choose a rule that an answer has added, and remove it

local turns = {} -- the running turns, as {client, turn}
local questions = {} -- the open questions, as {client, question}, the oldest first
local last -- the report of the last turn
local banner -- the window that says that questions wait
local shown -- the question that a window shows

-- Characters that are not seen, or that change the order in which others are, as ranges; `blanks` only look like a blank.
local unseen = {
  { 0x00, 0x08 }, { 0x0b, 0x1f }, { 0x7f, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x600, 0x605 }, { 0x61c, 0x61c },
  { 0x6dd, 0x6dd }, { 0x70f, 0x70f }, { 0x890, 0x891 }, { 0x8e2, 0x8e2 }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
  { 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x2800, 0x2800 }, { 0x3164, 0x3164 },
  { 0xd800, 0xf8ff }, { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0xfffe, 0xffff },
  { 0x110bd, 0x110bd }, { 0x110cd, 0x110cd }, { 0x13430, 0x1345f }, { 0x1bca0, 0x1bca3 }, { 0x1d173, 0x1d17a },
  { 0xe0000, 0x10ffff },
}
local blanks = { { 0xa0, 0xa0 }, { 0x1680, 0x1680 }, { 0x2000, 0x200a }, { 0x202f, 0x202f }, { 0x205f, 0x205f }, { 0x3000, 0x3000 } }

local function is_among(code, ranges)
  for _, range in ipairs(ranges) do
    if code >= range[1] and code <= range[2] then
      return true
    end
  end
  return false
end

-- `text` with characters that are not seen as their numbers; with `exact`, blanks that look like others, too.
local function visible(text, exact)
  return (text:gsub("[%z\1-\8\11-\31\127-\255][\128-\191]*", function(found)
    local code = vim.fn.char2nr(found)
    local is_hidden = is_among(code, unseen) or exact and is_among(code, blanks)
    if not is_hidden then
      return found
    end
    return (code < 0x80 and "\\x%02x" or code <= 0xffff and "\\u%04x" or "\\U%08x"):format(code)
  end))
end

-- `text` as one line that is no wider than `width` cells.
local function one_line(text, width)
  local line = visible(vim.trim(text:gsub("%s+", " ")))
  if vim.fn.strdisplaywidth(line) <= width then
    return line
  end
  while line ~= "" and vim.fn.strdisplaywidth(line) > width - 1 do
    line = vim.fn.strcharpart(line, 0, vim.fn.strcharlen(line) - 1)
  end
  return line .. "…"
end

-- Say `text` in one short line: a longer one would wait for ENTER, and eat the keys that are typed meanwhile.
local function say(text, level)
  vim.notify(one_line("handrail: " .. text, vim.v.echospace), level or vim.log.levels.INFO)
end

-- Show `lines` as plain text in a window of their own, which `q` closes.
local function show(name, lines)
  local buffer = vim.fn.bufadd("handrail://" .. name)
  vim.fn.bufload(buffer)
  for option, value in pairs({ buftype = "nofile", bufhidden = "hide", swapfile = false, filetype = "", modifiable = true }) do
    vim.bo[buffer][option] = value
  end
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(table.concat(lines, "\n"), "\n"))
  vim.bo[buffer].modifiable = false
  if vim.fn.bufwinid(buffer) == -1 then
    vim.cmd("botright split")
    vim.api.nvim_win_set_buf(0, buffer)
  else
    vim.api.nvim_set_current_win(vim.fn.bufwinid(buffer))
  end
  vim.wo.wrap, vim.wo.list, vim.wo.conceallevel = true, false, 0
  vim.api.nvim_win_set_cursor(0, { 1, 0 })
  vim.keymap.set("n", "q", "<Cmd>close<CR>", { buffer = buffer })
end

local function request(client, method, params, answered, failed)
  client:request("handrail/" .. method, params, function(problem, result)
    if problem then
      say(problem.message, vim.log.levels.ERROR)
      if failed then
        failed()
      end
    elseif answered then
      answered(result)
    end
  end)
end

-- Call `use` with the client of the current buffer, or the only one.
local function with_client(use)
  local client = vim.lsp.get_clients({ name = "handrail", bufnr = 0 })[1] or vim.lsp.get_clients({ name = "handrail" })[1]
  if client then
    use(client)
  else
    say("no server runs", vim.log.levels.ERROR)
  end
end

-- Let the user choose one of `items`, labelled by `label`, of which `width` cells are shown: usually a line.
local function choose(items, prompt, label, use, width)
  local function format_item(item)
    return one_line(label(item), width or vim.o.columns - 10)
  end
  vim.ui.select(items, { prompt = prompt, format_item = format_item }, function(item)
    if item then
      use(item)
    end
  end)
end

-- ---- Turns

local function count(report, status)
  return #vim.tbl_filter(function(outcome)
    return outcome.status == status
  end, report.outcomes)
end

-- How a turn ended, if it is not finished, and why; what became of its edits.
local function ending(report)
  local denied = count(report, "denied") > 0 and (", %d denied"):format(count(report, "denied")) or ""
  local told = ("%d edits, %d did not land%s"):format(#report.outcomes, count(report, "failed"), denied)
  local reason = report.reason and report.reason ~= "" and (": " .. report.reason:gsub("%.$", "")) or ""
  return report.state == "finished" and told or ("%s%s; %s"):format(report.state, reason, told)
end

local function wait(client, turn)
  local running = { client, turn }
  table.insert(turns, running)
  local function ended(report)
    turns = vim.tbl_filter(function(other)
      return other ~= running
    end, turns)
    last = report or last
    if report then
      local answer = report.answer ~= "" and report.answer or report.state == "finished" and report.reason or ""
      local level = report.state == "failed" and vim.log.levels.ERROR or nil
      say(ending(report) .. (answer ~= "" and ". " .. answer or ""), level)
    end
  end
  request(client, "turn/wait", { turn = turn }, ended, ended)
end

local function start(client, text)
  request(client, "turn/start", { prompt = text ~= "" and text or vim.fn.getreg("+") }, function(started)
    wait(client, started.turn)
  end)
end

local function restore(client)
  request(client, "checkpoint/list", vim.empty_dict(), function(checkpoints)
    local function label(checkpoint)
      return checkpoint.time .. "  " .. checkpoint.label
    end
    choose(checkpoints, "Restore:", label, function(checkpoint)
      request(client, "checkpoint/restore", { checkpoint = checkpoint.id }, function(report)
        say(("%d documents restored"):format(#report.restored + #report.deleted))
      end)
    end)
  end)
end

local function show_last()
  if not last then
    return say("no turn has ended yet")
  end
  local lines = { ending(last), "", visible(last.answer) }
  for _, outcome in ipairs(last.outcomes) do
    if outcome.failure then
      local name = vim.fn.fnamemodify(vim.uri_to_fname(outcome.uri), ":.")
      table.insert(lines, ("\n%s: %s"):format(visible(name), visible(outcome.failure.message)))
    end
  end
  show("last", lines)
end

-- The server of the client with that id has ended, and its turns with it.
local function lose(id)
  local left = vim.tbl_filter(function(running)
    return running[1].id ~= id
  end, turns)
  if #left < #turns then
    say("the server has ended, and the turn with it", vim.log.levels.ERROR)
  end
  turns = left
end

vim.api.nvim_create_user_command("Handrail", function(command)
  with_client(function(client)
    if command.bang then
      restore(client)
    else
      start(client, command.args)
    end
  end)
end, { nargs = "*", bang = true })
vim.api.nvim_create_user_command("HandrailLast", show_last, {})
vim.api.nvim_create_user_command("HandrailStop", function()
  if #turns == 0 then
    say("nothing is running")
  end
  for _, running in ipairs(turns) do
    request(running[1], "turn/cancel", { turn = running[2] })
  end
end, {})

-- ---- Questions

-- A question interrupts nothing and takes no keys: a line in the corner says that it waits, and :HandrailAnswer shows
-- all of it, and takes one of its answers, typed in full.

local words = { deny = "no", allow = "yes", session = "session", always = "always" }

local function draw_banner()
  if banner and vim.api.nvim_win_is_valid(banner) then
    vim.api.nvim_win_close(banner, true)
  end
  banner = nil
  if #questions == 0 then
    return
  end
  local text = (" handrail waits for you (%d): :HandrailAnswer "):format(#questions)
  local buffer = vim.api.nvim_create_buf(false, true)
  vim.bo[buffer].bufhidden = "wipe"
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, { text })
  banner = vim.api.nvim_open_win(buffer, false, {
    relative = "editor", anchor = "NE", row = 0, col = vim.o.columns, width = #text, height = 1,
    style = "minimal", focusable = false, noautocmd = true,
  })
  vim.wo[banner].winhighlight = "Normal:WarningMsg"
end

local function forget(gone)
  questions = vim.tbl_filter(function(open)
    return not gone(open[1], open[2])
  end, questions)
  draw_banner()
  if shown and gone(shown[1], shown[2]) then
    vim.api.nvim_buf_delete(vim.fn.bufadd("handrail://question"), { force = true })
    shown = nil
  end
end

local function note(client, question)
  for _, open in ipairs(questions) do
    if open[2].id == question.id then
      return
    end
  end
  table.insert(questions, { client, question })
  draw_banner()
end

-- What can be typed to answer a question, in order, and the choice that each stands for.
local function answers(question)
  local typed, choices = {}, {}
  for number, choice in ipairs(question.choices) do
    local word = words[choice] or choice
    if question.kind == "question" then
      word = choice == "deny" and "none" or ("answer %d"):format(number - 1)
    end
    table.insert(typed, word)
    choices[word] = choice
  end
  return typed, choices
end

-- For how many minutes a question still waits, as its server counts them; nil if that is not to be had at once.
local function minutes_left(client, question)
  local answer = client:request_sync("handrail/approval/list", vim.empty_dict(), 1000)
  for _, open in ipairs(answer and answer.result or {}) do
    if open.id == question.id then
      return math.ceil(open.secondsLeft / 60)
    end
  end
end

local function show_question(client, question)
  local lines, left = {}, minutes_left(client, question)
  local function part(title, text)
    if text and text ~= "" then
      vim.list_extend(lines, { title, "", "    " .. visible(text, true):gsub("\n", "\n    "), "" })
    end
  end
  local is_own = question.kind == "question"
  part(is_own and "The model asks" or ("May it use %s?"):format(visible(question.tool, true)), question.subject)
  part("In the folder", question.folder)
  part("It is asked because", question.detail)
  part("What would be written", question.diff)
  part("A yes for the session, or for always, adds the rules", table.concat(question.rules or {}, "\n"))
  local typed, choices = answers(question)
  for _, word in ipairs(is_own and typed or {}) do
    part(word, choices[word] ~= "deny" and choices[word] or nil)
  end
  table.insert(lines, "Answer with :HandrailAnswer" .. (left and ("; in %d minutes it ends as a no"):format(left) or ""))
  show("question", lines)
end

local function ask(open)
  local client, question = open[1], open[2]
  local typed, choices = answers(question)
  show_question(client, question)
  shown = open
  vim.cmd.redraw()
  vim.ui.input({ prompt = ("Type %s (empty: later): "):format(table.concat(typed, ", ")) }, function(word)
    if not vim.tbl_contains(questions, open) then
      say("that question has ended")
    elseif choices[word or ""] then
      request(client, "approval/answer", { approval = question.id, choice = choices[word] })
    else
      say("the question stays open")
    end
  end)
end

vim.api.nvim_create_user_command("HandrailAnswer", function()
  if #questions == 0 then
    say("no question waits for you")
  elseif #questions == 1 then
    ask(questions[1])
  else
    choose(questions, "Question:", function(open)
      return open[2].subject
    end, ask)
  end
end, {})
vim.api.nvim_create_user_command("HandrailRules", function()
  with_client(function(client)
    request(client, "rules/list", vim.empty_dict(), function(rules)
      if #rules == 0 then
        return say("no answer has added a rule")
      end
      choose(rules, "Remove the rule:", function(rule)
        return rule.text
      end, function(rule)
        request(client, "rules/remove", { rule = rule.id }, function()
          say("the rule is removed")
        end)
      end, math.huge) -- a rule may end in what differs
    end)
  end)
end, {})
vim.api.nvim_create_autocmd("VimResized", { callback = draw_banner })

-- ---- The server

vim.lsp.config("handrail", {
  cmd = { "handrail", "serve" },
  root_dir = function(buffer, start_in)
    start_in(vim.fs.root(buffer, ".git") or vim.fn.getcwd())
  end,
  init_options = { handrail = { approvals = true } },
  handlers = {
    ["handrail/approval/request"] = function(_, question, context)
      note(vim.lsp.get_client_by_id(context.client_id), question)
      return vim.NIL -- not an answer: that follows
    end,
    ["handrail/approval/ended"] = function(_, ended)
      forget(function(_, question)
        return question.id == ended.approval
      end)
    end,
  },
  on_init = function(client)
    local requests = vim.tbl_get(client.server_capabilities, "experimental", "handrail", "requests") or {}
    if not vim.tbl_contains(requests, "handrail/approval/list") then
      return -- an older server
    end
    request(client, "approval/list", vim.empty_dict(), function(open)
      for _, question in ipairs(open) do
        note(client, question)
      end
    end)
  end,
  on_exit = function(_, _, id)
    vim.schedule(function()
      lose(id)
      forget(function(client)
        return client.id == id
      end)
    end)
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
