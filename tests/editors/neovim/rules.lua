-- A yes for the session adds a rule, which :HandrailRules removes.
return function(drive)
  local record = drive.record
  drive.open("poem.txt")
  vim.o.columns = 60 -- a rule is longer
  local client = vim.lsp.get_clients({ name = "handrail" })[1]
  drive.say(":HandrailRules<CR>", "there are no rules from your answers")

  vim.cmd("Handrail go")
  drive.await("the question", drive.banner)
  drive.answer()
  record.question = drive.text(0)
  drive.say("conversation<CR>", "It ran.")
  record.rules = drive.request(client, "rules/list")
  record.offered = drive.choose("touch")
  drive.say(":HandrailRules<CR>", "the rule was removed")
  record.left = drive.request(client, "rules/list")

  vim.cmd("Handrail go") -- asks again
  drive.await("the question", drive.banner)
end
