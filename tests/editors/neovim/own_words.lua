-- Each turn asks the user, who answers in other words, by a number, in full, or not at all.
return function(drive)
  drive.open("poem.txt")
  for number, keys in ipairs({ "Neither of them<CR>", "2<CR>", "answer 1<CR>", "no answer<CR>" }) do
    vim.cmd("Handrail go")
    drive.await("the question", drive.banner)
    if number == 1 then
      drive.answer()
      drive.say("  <CR>", "the question stays open")
    end
    drive.answer()
    drive.record.question = drive.text(0)
    drive.say(keys, ("Done %d."):format(number))
  end
end
