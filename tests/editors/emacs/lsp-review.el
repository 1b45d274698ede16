;;; lsp-review.el --- Ask about a selection, type while edits arrive, comment and send through lsp-mode -*- lexical-binding: t; -*-

(defvar review-edits 0 "How many edits have come.")

(defun review-around (apply &rest arguments)
  "Type a word after each edit, which APPLY with ARGUMENTS makes."
  (prog1 (apply apply arguments)
    (cl-incf review-edits)
    (drive-type (drive-value 'word))))

(defun review-file (name)
  "What the file NAME holds."
  (with-temp-buffer (insert-file-contents name) (buffer-string)))

(defun review-served (name)
  "The path of the served document NAME, which may be a pattern; nil if there is none."
  (car (file-expand-wildcards (drive-file (concat ".handrail/" name)))))

(iter-defun lsp-review ()
  (let ((poem (drive-open "poem.txt")) (note (drive-file "note.txt")) price chat page words)
    (drive-await "the server" (with-current-buffer poem (drive-managed-p)))
    (setq price (drive-open "price.txt"))
    (drive-await "the server to get the price" (with-current-buffer price (drive-managed-p)))
    (switch-to-buffer poem)
    (goto-char (point-min))
    (drive-type (drive-value 'typed))
    (drive-keys "RET")
    (drive-await "the typed line" (string-prefix-p (concat (drive-value 'typed) "\n") (drive-text poem)))

    ;; A selection is quoted in the conversation.
    (goto-char (point-min))
    (search-forward "three")
    (push-mark (line-beginning-position) t t)
    (drive-choose "Ask handrail about this")
    (drive-keys "M-x lsp-execute-code-action RET")
    (drive-await "the conversation" (review-served "chat-*.md"))
    (find-file (review-served "chat-*.md"))
    (setq chat (current-buffer))
    (drive-await "the server to get the conversation" (with-current-buffer chat (drive-managed-p)))
    (drive-note 'asked (drive-text chat))
    (drive-write chat (drive-value 'prompt))
    (drive-await "the prompt" (string-search (drive-value 'prompt) (drive-text chat)))
    (drive-act chat (drive-value 'prompt) "Send")
    (drive-await "it to be sent" (equal (car drive-offered) "Send"))

    ;; The user types in the poem while it is edited.
    (switch-to-buffer poem)
    (goto-char (point-max))
    (advice-add 'lsp--apply-workspace-edit :around #'review-around)
    (drive-await "the answer" (string-search (drive-value 'all) (drive-text chat)))
    (advice-remove 'lsp--apply-workspace-edit #'review-around)
    (drive-await "the words" (= review-edits (1- (length (split-string (drive-text poem) (drive-value 'word))))))
    (drive-note 'edits review-edits)
    (drive-snapshot 'landed)

    ;; A comment is sent, and answered.
    (drive-act poem "FOUR" "Open the review document")
    (drive-await "the review document" (review-served "review.md"))
    (find-file (review-served "review.md"))
    (setq page (current-buffer))
    (drive-await "the server to get the review document" (with-current-buffer page (drive-managed-p)))
    (drive-await "the changes" (string-search "+THIRD\n```\n" (drive-text page)))
    (drive-note 'review (drive-text page))
    (goto-char (point-min))
    (search-forward "+THIRD\n```\n")
    (drive-type (drive-value 'comment))
    (drive-keys "RET")
    (drive-await "the comment" (string-search (concat (drive-value 'comment) "\n") (drive-text page)))
    (drive-act page (drive-value 'comment) "Send this comment")
    (drive-await "the answer" (and (string-search "This was answered in" (drive-text page))
                                   (string-search "!!!" (review-file note))))
    (drive-note 'answered (drive-text page))
    (drive-snapshot 'written)))

(drive-begin (lsp-review))
