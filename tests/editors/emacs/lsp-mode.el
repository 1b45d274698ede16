;;; lsp-mode.el --- A whole conversation through lsp-mode, beside another server -*- lexical-binding: t; -*-

(lsp-register-client
 (make-lsp-client :server-id 'other
                  :new-connection (lsp-stdio-connection (append (drive-value 'other) nil))
                  :major-modes '(python-mode)))

(defun lsp-page ()
  "The buffer of the conversation."
  (seq-find (lambda (buffer) (string-prefix-p "chat-" (buffer-name buffer))) (buffer-list)))

(iter-defun lsp-chat ()
  (let ((poem (drive-open "poem.txt")) server prices page before)
    (drive-await "the server" (with-current-buffer poem (drive-managed-p)))
    (setq server (drive-server)
          prices (drive-open "prices.py"))
    (drive-await "the server to get the prices" (with-current-buffer prices (drive-managed-p)))
    (drive-keys "<right>") ; flymake begins after a command
    (drive-await "the other server's word" (drive-diagnostics prices))

    ;; What is typed behind an emoji is told in characters.
    (switch-to-buffer poem)
    (goto-char (point-min))
    (search-forward "two")
    (drive-type (drive-value 'typed))
    (drive-await "typing" (string-search (drive-value 'typed) (drive-text poem)))
    (drive-keys "M-x handrail-open RET")
    (drive-await "the conversation" (lsp-page))
    (setq page (lsp-page))
    (drive-await "the server to get the conversation" (with-current-buffer page (drive-managed-p)))
    (drive-note 'mode (symbol-name (buffer-local-value 'major-mode page)))

    ;; The answer comes in pieces, and the user writes what comes next.
    (drive-type (drive-value 'prompt))
    (drive-await "the prompt" (string-search (drive-value 'prompt) (drive-text page)))
    (drive-act page (drive-value 'prompt) "Send")
    (drive-await "the answer's beginning" (string-search (drive-value 'begins) (drive-text page)))
    (drive-note 'half (drive-text page))
    (drive-write page (drive-value 'draft))
    (drive-await "the draft" (string-suffix-p (drive-value 'draft) (drive-text page)))
    (drive-note 'place (- (point-max) (point)))
    (drive-open-gate)
    (drive-await "the question" (string-search "May this command run?" (drive-text page)))
    (drive-await "a word of it" (drive-said "May this command run?"))
    (drive-note 'place-later (with-current-buffer page (- (point-max) (point))))
    (drive-note 'ran-before (drive-flag (drive-there-p "ran.txt")))
    (drive-act page "May this command run?" "Allow once")
    (drive-await "the command" (drive-there-p "ran.txt"))
    (drive-note 'offered (vconcat drive-offered))
    (drive-await "the answer" (string-search (drive-value 'answer) (drive-text page)))
    (drive-note 'answered (drive-text page))
    (drive-await "the diagnostic" (cdr (drive-diagnostics prices)))
    (drive-snapshot 'after)

    ;; One edit did not land: its quick fix makes it.
    (drive-act prices "return" (drive-value 'fix))
    (drive-await "the quick fix" (null (cdr (drive-diagnostics prices))))
    (drive-snapshot 'mended)

    ;; One change is undone, the others are kept.
    (drive-act poem "TWO" "Undo this change (")
    (drive-await "the undo" (not (string-search "TWO" (drive-text poem))))
    (drive-act poem "FOUR" "Keep this change")
    (drive-await "what is pending to be kept" (not (drive-pending-p server "poem.txt")))
    (drive-snapshot 'reviewed)
    (drive-act page (drive-value 'answer) "Undo this turn's changes")
    (drive-await "the restore" (not (string-search "FOUR" (drive-text poem))))
    (drive-await "what the command made to go" (not (drive-there-p "ran.txt")))
    (drive-snapshot 'restored)

    ;; The server ends as the system ends one when memory is short.
    (setq before (drive-text page))
    (switch-to-buffer page)
    (drive-kill server)
    (drive-await "a question" (> (minibuffer-depth) 0))
    (drive-keys "y")
    (drive-await "another server" (with-current-buffer page
                                    (and (drive-managed-p) (not (eq server (drive-server))))))
    (drive-write page (drive-value 'more))
    (drive-await "the rest of the draft" (string-suffix-p (drive-value 'more) (drive-text page)))
    (drive-note 'survived (drive-flag (string-prefix-p before (drive-text page))))
    (drive-act page (drive-value 'more) "Send")
    (drive-await "the last answer" (string-search (drive-value 'last) (drive-text page)))
    (drive-await "its end" (string-match-p "## You\n*\\'" (drive-text page)))
    (drive-note 'last (drive-text page))))

(drive-begin (lsp-chat))
