" Drives a Vim that was set up with ALE, and writes down what it holds.
"
" The steps of a test await a state and then press keys, as a user does. $HANDRAIL_TEST names a JSON file: which
" steps to run, and where the record goes. Only what is awaited is checked here; Python judges the record.

set nomore
let s:limit_s = 25
let s:plan = json_decode(join(readfile($HANDRAIL_TEST), "\n"))
let g:values = s:plan.values
let s:record = {}
let s:steps = []
let s:since = reltime()

function! Step(what, Condition, Act) abort
  call add(s:steps, [a:what, a:Condition, a:Act])
endfunction

function! Press(keys) abort
  call feedkeys(a:keys, 't')
endfunction

function! Note(name, value) abort
  let s:record[a:name] = a:value
endfunction

" The text of the buffer whose name holds a word, as it would be written.
function! TextOf(name) abort
  let l:buffer = bufnr(a:name)
  let l:end = getbufvar(l:buffer, '&fileformat') is# 'dos' ? "\r\n" : "\n"
  return l:buffer < 0 ? '' : join(getbufline(l:buffer, 1, '$'), l:end) . (getbufvar(l:buffer, '&endofline') ? l:end : '')
endfunction

function! Has(name, text) abort
  return stridx(TextOf(a:name), a:text) >= 0
endfunction

" Whether the server knows a buffer as it is now.
function! IsTold(name) abort
  for l:known in values(ale#lsp#GetConnections())
    if get(l:known.open_documents, bufnr(a:name), -1) == getbufvar(bufnr(a:name), 'changedtick')
      return 1
    endif
  endfor
endfunction

" What ALE shows of a buffer.
function! Shown(name) abort
  return map(copy(get(get(g:ale_buffer_info, bufnr(a:name), {}), 'loclist', [])), 'v:val.lnum . ": " . v:val.text')
endfunction

" What stands on the screen.
function! Rows() abort
  return map(range(1, &lines), {_, row -> join(map(range(1, &columns), {_, column -> screenstring(row, column)}), '')})
endfunction

" The numbers under which the user can choose what holds a word.
function! Offered(wanted) abort
  let l:row = matchstr(Rows(), '^\d\+) .*\V' . a:wanted)
  return matchstr(l:row, '^\d\+')
endfunction

function! Choose(wanted) abort
  call Note('offered ' . a:wanted, filter(Rows(), {_, row -> row =~# '^\d\+) '}))
  call Press(Offered(a:wanted) . "\<CR>")
endfunction

" Have what stands behind the last place in a buffer acted on by a code action.
function! Act(name, place, wanted) abort
  call Step('the place ' . a:place, {-> Has(a:name, a:place)}, {-> s:Ask(a:name, a:place)})
  call Step('the action ' . a:wanted, {-> !empty(Offered(a:wanted))}, {-> Choose(a:wanted)})
endfunction

function! s:Ask(name, place) abort
  execute 'buffer' bufnr(a:name)
  normal! G$
  call search('\V' . a:place, 'bc')
  call Press(":ALECodeAction\<CR>")
endfunction

function! OpenGate() abort
  call writefile([], s:plan.gate)
endfunction

function! s:Finish(problem) abort
  call Note('problem', a:problem)
  call Note('texts', map(filter(range(1, bufnr('$')), 'bufexists(v:val)'), {_, each -> bufname(each) . "\n" . TextOf(each)}))
  call Note('screen', Rows())
  call Note('said', execute('messages'))
  call writefile([json_encode(s:record)], s:plan.record)
  qall!
endfunction

function! s:Tick(timer) abort
  try
    if empty(s:steps)
      call s:Finish(v:null)
    elseif reltimefloat(reltime(s:since)) > s:limit_s
      call s:Finish('waited in vain for ' . s:steps[0][0])
    elseif call(s:steps[0][1], [])
      let l:step = remove(s:steps, 0)
      let s:since = reltime()
      call call(l:step[2], [])
    endif
  catch
    call s:Finish(v:exception . ' in ' . v:throwpoint)
  endtry
endfunction

execute 'source' fnameescape(s:plan.steps)
call timer_start(20, function('s:Tick'), {'repeat': -1})
