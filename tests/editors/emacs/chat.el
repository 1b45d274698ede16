;;; chat.el --- A whole conversation through plain eglot, and a server that is killed in it -*- lexical-binding: t; -*-

(defun chat-act (buffer place wanted)
  "In BUFFER, behind the last PLACE, choose the code action that holds WANTED."
  (switch-to-buffer buffer)
  (goto-char (point-max))
  (search-backward place)
  (drive-choose wanted)
  (drive-keys "M-x eglot-code-actions RET"))

(defun chat-write (buffer text)
  "Type TEXT at the end of BUFFER."
  (switch-to-buffer buffer)
  (goto-char (point-max))
  (drive-type text))

(defun chat-pending (server name)
  "Whether SERVER has changes of the file NAME that are neither kept nor undone."
  (seq-some (lambda (hunk) (string-suffix-p name (plist-get hunk :uri))) (drive-list server :handrail/review/list)))

(iter-defun chat ()
  (let ((poem (drive-open "poem.txt")) server prices page before)
    (drive-connect)
    (drive-await "the server" (with-current-buffer poem (drive-managed-p)))
    (setq server (drive-server)
          prices (drive-open "prices.py"))
    (drive-await "the server to get the prices" (with-current-buffer prices (drive-managed-p)))
    (drive-keys "M-x handrail-open RET")
    (drive-await "where the conversation is" (drive-said "Open file:"))
    (setq page (drive-open (car (directory-files ".handrail" t "\\`chat-"))))
    (drive-await "the server to get the conversation" (with-current-buffer page (drive-managed-p)))
    (drive-note 'mode (symbol-name major-mode))
    (drive-note 'fresh (drive-text page))

    ;; The answer comes in pieces, and the user writes what comes next.
    (chat-write page (drive-value 'prompt))
    (drive-await "the prompt" (string-search (drive-value 'prompt) (drive-text page)))
    (chat-act page (drive-value 'prompt) "Send")
    (drive-await "the answer's beginning" (string-search (drive-value 'begins) (drive-text page)))
    (drive-note 'half (drive-text page))
    (chat-write page (drive-value 'draft))
    (drive-await "the draft" (string-suffix-p (drive-value 'draft) (drive-text page)))
    (drive-note 'place (- (point-max) (point)))
    (drive-let-choose)
    (drive-open-gate)
    (drive-await "the question in the minibuffer" (> (minibuffer-depth) 0))
    (drive-note 'asked (with-current-buffer (window-buffer (minibuffer-window)) (minibuffer-prompt)))
    (drive-keys "C-g")
    (drive-await "the question" (string-search "May this command run?" (drive-text page)))
    (drive-note 'place-later (with-current-buffer page (- (point-max) (point))))
    (drive-note 'ran-before (drive-flag (drive-there-p "ran.txt")))
    (chat-act page "May this command run?" "Allow once")
    (drive-await "the command" (drive-there-p "ran.txt"))
    (drive-note 'offered (vconcat drive-offered))
    (drive-await "the answer" (string-search (drive-value 'answer) (drive-text page)))
    (drive-note 'answered (drive-text page))
    (drive-await "the diagnostic" (drive-diagnostics prices))
    (drive-snapshot 'after)

    ;; One edit did not land: its quick fix makes it.
    (switch-to-buffer prices)
    (goto-char (flymake-diagnostic-beg (car (drive-diagnostics prices))))
    (drive-choose (drive-value 'fix))
    (drive-keys "M-x eglot-code-actions RET")
    (drive-await "the quick fix" (null (drive-diagnostics prices)))
    (drive-snapshot 'mended)

    ;; One change is undone, the others are kept.
    (chat-act poem "TWO" "Undo this change (")
    (drive-await "the undo" (not (string-search "TWO" (drive-text poem))))
    (drive-note 'undo-offered (vconcat drive-offered))
    (chat-act poem "FOUR" "Keep this change")
    (drive-await "what is pending to be kept" (not (chat-pending server "poem.txt")))
    (drive-note 'keep-offered (vconcat drive-offered))
    (drive-snapshot 'reviewed)

    (chat-act page (drive-value 'answer) "Take back what this turn changed")
    (drive-await "the restore" (not (string-search "FOUR" (drive-text poem))))
    (drive-await "what the command made to go" (not (drive-there-p "ran.txt")))
    (drive-snapshot 'restored)

    ;; The server ends as the system ends one when memory is short.
    (setq before (drive-text page))
    (signal-process (process-id (jsonrpc--process server)) 'SIGKILL)
    (drive-await "another server" (with-current-buffer page
                                    (and (drive-managed-p) (not (eq server (drive-server))))))
    (chat-write page (drive-value 'more))
    (drive-await "the rest of the draft" (string-suffix-p (drive-value 'more) (drive-text page)))
    (drive-note 'survived (drive-flag (string-prefix-p before (drive-text page))))
    (chat-act page (drive-value 'more) "Send")
    (drive-await "the last answer" (string-search (drive-value 'last) (drive-text page)))
    (drive-await "its end" (string-match-p "## You\n*\\'" (drive-text page)))
    (drive-note 'last (drive-text page))
    (drive-note 'sessions (drive-list (drive-server) :handrail/session/list))))

(drive-begin (chat))
