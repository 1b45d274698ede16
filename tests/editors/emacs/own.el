;;; own.el --- A conversation by the commands of handrail.el, beside another server of eglot's -*- lexical-binding: t; -*-

(require 'eglot)

(defun own-write (buffer text)
  "Type TEXT at the end of BUFFER."
  (switch-to-buffer buffer)
  (goto-char (point-max))
  (drive-type text))

(defun own-types (buffer)
  "The types of the diagnostics of BUFFER."
  (sort (mapcar (lambda (each) (symbol-name (flymake-diagnostic-type each))) (drive-diagnostics buffer)) #'string<))

(iter-defun own ()
  (let ((poem (drive-open "poem.txt")) code page server)
    (setq code (drive-open "code.py"))
    (add-to-list 'eglot-server-programs `(python-mode . ,(append (drive-value 'other) nil)))
    (drive-keys "M-x eglot RET")
    (drive-await "eglot's server" (with-current-buffer code (eglot-managed-p)))
    (drive-await "what it finds" (drive-diagnostics code))
    (push '("approvals" . ((("tool" . "terminal") ("match" . "touch *") ("verdict" . "allow")))) handrail-settings)

    (drive-keys "M-x handrail RET")
    (drive-await "the conversation" (string-match-p "chat-" (or (buffer-file-name (window-buffer)) "")))
    (setq page (window-buffer)
          server (buffer-local-value 'handrail--doc page))
    (drive-note 'mode (symbol-name major-mode))
    (drive-note 'keys (symbol-name (key-binding (kbd "C-c C-c"))))
    (drive-note 'at-end (drive-flag (eobp)))
    (drive-note 'idle (drive-waits))

    ;; The answer comes in pieces, and the user writes what comes next.
    (own-write page (drive-value 'prompt))
    (drive-keys "C-c C-c")
    (drive-await "the answer's beginning" (string-search (drive-value 'begins) (drive-text page)))
    (drive-note 'thinking (drive-waits))
    (own-write page (drive-value 'draft))
    (drive-await "the draft" (string-suffix-p (drive-value 'draft) (drive-text page)))
    (drive-open-gate)
    (drive-await "the end" (drive-said "handrail: finished"))
    (drive-await "the answer" (string-search (drive-value 'answer) (drive-text page)))
    (drive-note 'place (with-current-buffer page (- (point-max) (point))))
    (drive-await "what is to be reviewed" (string-search "4 to review" (drive-waits)))
    (drive-note 'pending (drive-waits))
    (drive-snapshot 'after)

    ;; One edit did not land; eglot's own diagnostics are beside it.
    (drive-await "the diagnostics of both" (equal '("eglot-error" ":warning") (reverse (own-types code))))
    (switch-to-buffer code)
    (goto-char (flymake-diagnostic-beg (seq-find (lambda (each) (eq (flymake-diagnostic-type each) :warning))
                                                 (drive-diagnostics code))))
    (drive-choose (drive-value 'fix))
    (drive-keys "M-x handrail-actions RET")
    (drive-await "the quick fix" (equal '("eglot-error") (own-types code)))

    ;; One step of undo takes back one edit, and all of it.
    (drive-keys "C-x u")
    (drive-await "the undo" (member ":warning" (own-types code)))
    (drive-note 'undone (drive-text code))

    ;; Changes are kept and undone where they are listed.
    (switch-to-buffer poem)
    (drive-keys "M-x handrail-review RET")
    (drive-await "the list" (get-buffer "*handrail review*"))
    (drive-note 'review (drive-text (get-buffer "*handrail review*")))
    (switch-to-buffer "*handrail review*")
    (goto-char (point-min))
    (search-forward "TWO")
    (drive-keys "u")
    (drive-await "one to be undone" (drive-said "handrail: 1 change undone"))
    (drive-await "one less" (not (string-search "TWO" (drive-text (get-buffer "*handrail review*")))))
    (switch-to-buffer poem)
    (goto-char (point-min))
    (search-forward "FOUR")
    (drive-keys "M-x handrail-keep RET")
    (drive-await "one to be kept" (drive-said "handrail: 1 change kept"))
    (drive-snapshot 'reviewed)

    ;; A document with another name and another mode is the same document.
    (set-visited-file-name "ballad.txt" t)
    (save-buffer)
    (delete-file (drive-file "poem.txt"))
    (outline-mode)
    (goto-char (point-min))
    (drive-type "zz")
    (drive-await "what was typed" (string-prefix-p "zz" (drive-text poem)))

    ;; About what is selected.
    (goto-char (point-min))
    (search-forward "three")
    (drive-keys "C-a C-SPC C-e M-x handrail RET")
    (drive-await "the quote" (string-search "three" (car (last (split-string (drive-text page) "## You")))))
    (own-write page (drive-value 'more))
    (drive-await "the question" (string-suffix-p (drive-value 'more) (drive-text page)))
    (drive-keys "C-c C-c")
    (drive-await "the second answer" (string-search "THREE" (drive-text poem)))
    (drive-await "its end" (string-search (drive-value 'second) (drive-text page)))
    (drive-note 'asked (drive-text page))
    (drive-snapshot 'renamed)

    ;; The server is killed; another one goes on in the same conversation.
    (setq server (with-current-buffer page (drive-server)))
    (signal-process (process-id (jsonrpc--process server)) 'SIGKILL)
    (drive-await "that to be said" (drive-said "handrail: the server has ended; it is being restarted"))
    (drive-await "another server" (with-current-buffer page (and (drive-managed-p) (not (eq server (drive-server))))))
    (own-write page (drive-value 'last-prompt))
    (drive-keys "C-c C-c")
    (drive-await "the last answer" (string-search (drive-value 'last) (drive-text page)))
    (drive-await "its end" (string-match-p "## You\n*\\'" (drive-text page)))
    (drive-note 'last (drive-text page))
    (drive-note 'eglot (drive-flag (with-current-buffer code (eglot-managed-p))))
    (drive-note 'sessions (drive-list (with-current-buffer page (drive-server)) :handrail/session/list))))

(drive-begin (own))
