" A whole conversation through ALE.

function! s:Type(keys, what, text) abort
  call Step('Vim', {-> mode() is# 'n'}, {-> Press(a:keys)})
  call Step(a:what, {-> mode() is# 'n' && a:text()}, {-> 0})
endfunction

call Step('the server', {-> IsTold('poem.txt')}, {-> Press("/two\<CR>ea" . g:values.typed . "\<Esc>")})
call Step('typing', {-> Has('poem.txt', g:values.typed)}, {-> Press(":HandrailOpen\<CR>")})
call Step('the conversation', {-> bufname('') =~# 'chat-' && IsTold('chat-')}, {-> Note('fresh', TextOf('chat-'))})
call Step('Vim', {-> 1}, {-> Press('A' . g:values.prompt . "\<Esc>")})
call Step('the prompt', {-> Has('chat-', g:values.prompt)}, {-> 0})
call Act('chat-', g:values.prompt, 'Send')
call Step('the beginning', {-> Has('chat-', g:values.begins)}, {-> Note('half', TextOf('chat-'))})
call Step('Vim', {-> mode() is# 'n'}, {-> Press('GA' . g:values.draft . "\<Esc>")})
call Step('the draft', {-> Has('chat-', g:values.draft)}, {-> OpenGate()})
call Act('chat-', 'May this command run?', 'Allow once')
call Step('the command', {-> filereadable('ran.txt')}, {-> 0})
call Step('the answer', {-> Has('chat-', g:values.answer)}, {-> Note('answered', TextOf('chat-'))})
call Step('diagnostics', {-> !empty(Shown('poem.txt'))}, {-> Note('shown', Shown('poem.txt'))})
call Act('poem.txt', 'two', 'Make this edit')
call Step('the first edit', {-> Has('poem.txt', 'TWO')}, {-> 0})
call Act('poem.txt', 'four', 'Make this edit')
call Step('the second edit', {-> Has('poem.txt', 'FOUR') && IsTold('poem.txt')}, {-> Note('made', TextOf('poem.txt'))})
call Step('what it waited for', {-> empty(Shown('poem.txt'))}, {-> 0})

" One edit fits nowhere as it was written: its quick fix makes it.
call Step('Vim', {-> 1}, {-> execute('edit prices.py')})
call Step('the diagnostic', {-> !empty(Shown('prices.py'))}, {-> Note('unfit', Shown('prices.py'))})
call Act('prices.py', 'return', g:values.fix)
call Step('the quick fix', {-> Has('prices.py', 'round')}, {-> Note('fixed', TextOf('prices.py'))})
call Step('no diagnostic', {-> empty(Shown('prices.py'))}, {-> 0})

" One change is undone, which again is an edit for the user to make; the other one is kept.
call Act('poem.txt', 'TWO', 'Undo this change (')
call Step('a word of it', {-> Has('ALEPreviewWindow', 'was not undone')}, {-> 0})
call Act('poem.txt', 'TWO', 'Make this edit')
call Step('the undo', {-> !Has('poem.txt', 'TWO')}, {-> Note('undone', TextOf('poem.txt'))})
call Act('poem.txt', 'FOUR', 'Keep this change')
call Act('chat-', g:values.draft, 'Send')
call Step('the last answer', {-> Has('chat-', g:values.last)}, {-> 0})
call Step('its end', {-> TextOf('chat-') =~# '## You\n*$'}, {-> Note('last', TextOf('chat-'))})
