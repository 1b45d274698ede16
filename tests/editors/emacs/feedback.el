;;; feedback.el --- Other servers find fault with what a turn writes -*- lexical-binding: t; -*-

;; eglot has one server for Python, lsp-mode has several.  While a report is waited for that never comes, the user types.

(require 'flymake)

(setq native-comp-async-report-warnings-errors nil) ; else a window pops up over one that flymake is to check

(defvar feedback-later nil "The answer that is still to come when the user types.")

(defun feedback-stretch (await server uris seconds others)
  "Have AWAIT answer SERVER about URIS and OTHERS after SECONDS, or much later if that is for a stale report."
  (let* ((is-stale (with-current-buffer "shop.py" (string-search "STALE" (buffer-string))))
         (later (funcall await server uris (if is-stale drive-limit-s seconds) others))) ; a slow machine types slowly
    (when is-stale (setq feedback-later (or feedback-later later)))
    later))

(defun feedback-messages (buffer)
  "What other servers have said of BUFFER."
  (with-current-buffer buffer
    (vconcat (mapcar (lambda (each) (plist-get each :message)) (handrail--problems (handrail--peers) nil)))))

(iter-defun feedback ()
  (let* ((is-lsp-mode (equal (drive-value 'client) "lsp-mode"))
         (shop (drive-open "shop.py"))
         (card (and (drive-value 'perl) (find-file-noselect (drive-file "card.pl"))))
         rest poem)
    (when card ; flymake itself runs Perl on what is shown
      (switch-to-buffer-other-window card)
      (flymake-mode)
      (drive-await "flymake in Perl" (with-current-buffer card (memq 'perl-flymake (flymake-reporting-backends))))
      (other-window 1))
    (if is-lsp-mode
        (progn
          (require 'lsp-mode)
          (setq lsp-auto-guess-root t lsp-client-packages nil lsp-diagnostics-provider :flymake)
          (seq-do (lambda (command)
                    (lsp-register-client
                     (make-lsp-client :server-id (intern (file-name-nondirectory (aref command (1- (length command)))))
                                      :new-connection (lsp-stdio-connection (append command nil))
                                      :major-modes '(python-mode)
                                      :add-on? t)))
                  (drive-value 'servers))
          (drive-keys "M-x lsp RET")
          (drive-await "lsp-mode" (buffer-local-value 'lsp--buffer-workspaces shop))
          (setq rest (drive-open "rest.py"))
          (drive-keys "M-x lsp RET")
          (drive-await "lsp-mode in both" (buffer-local-value 'lsp--buffer-workspaces rest))
          (switch-to-buffer shop))
      (require 'eglot)
      (add-to-list 'eglot-server-programs `(python-mode . ,(append (aref (drive-value 'servers) 0) nil)))
      (drive-keys "M-x eglot RET"))
    (when (drive-value 'beside)
      (let ((beside (find-file-noselect (drive-file (drive-value 'beside)))))
        (drive-await "a report on what is beside" (buffer-local-value 'handrail--reports beside))))
    (drive-await "the other servers"
                 (with-current-buffer shop (= (length handrail--reports) (length (drive-value 'servers)))))
    (drive-note 'before (feedback-messages shop))
    (handrail--with-server #'ignore)
    (drive-await "the server" (with-current-buffer shop handrail--doc))

    (advice-add 'handrail--await-reports :around #'feedback-stretch)
    (handrail-ask "Go.")
    (when (drive-value 'typed)
      (setq poem (drive-open "poem.txt"))
      (drive-await "a report that does not come" feedback-later)
      (drive-type (drive-value 'typed))
      (drive-await "typing" (string-search (drive-value 'typed) (drive-text poem)))
      (drive-note 'is-answered (drive-flag (handrail--later-answer feedback-later))))
    (drive-await "the end" (drive-said "handrail: finished"))
    (when is-lsp-mode
      (drive-note 'servers (vconcat (mapcar (lambda (buffer) (length (buffer-local-value 'lsp--buffer-workspaces buffer)))
                                            (list shop rest)))))
    (drive-snapshot 'after)))

(drive-begin (feedback))
