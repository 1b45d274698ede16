;;; drive.el --- Drives an Emacs that was set up by handrail.el, eglot or lsp-mode, and writes down what it holds -*- lexical-binding: t; -*-

;; The steps of a test are a generator that goes on only while Emacs waits for its user, so that typed keys,
;; undo and delayed `didChange's are those of everyday use.  $HANDRAIL_TEST names a JSON file: which steps to
;; run, and where the record goes.  Only what is awaited is checked here; Python judges the record.

;;; Code:

(require 'cl-lib)
(require 'flymake)
(require 'generator)
(require 'json)

(defconst drive-limit-s 30 "How long a step may take; less than Python gives the whole process.")

(defvar drive-run
  (let ((json-object-type 'alist))
    (json-read-file (getenv "HANDRAIL_TEST"))))
(defvar drive-folder default-directory "The workspace folder.")
(defvar drive-record nil "What is written down, the newest first.")
(defvar drive-offered nil "What the user could choose from, last.")
(defvar drive--steps nil)
(defvar drive--awaited nil)
(defvar drive--since (float-time))

(defun drive-value (name)
  "The value NAME that Python gave."
  (alist-get name (alist-get 'values drive-run)))

(defun drive-note (name value)
  "Write down VALUE as NAME."
  (push (cons name value) drive-record))

(defmacro drive-await (what &rest body)
  "In steps: let Emacs go on until BODY is true; WHAT is for people."
  `(iter-yield (cons ,what (lambda () ,@body))))

(defun drive-keys (keys)
  "Press KEYS, as `kbd' writes them."
  (setq unread-command-events (append unread-command-events (listify-key-sequence (kbd keys)))))

(defun drive-type (text)
  "Type TEXT."
  (setq unread-command-events (append unread-command-events text nil)))

(defun drive-choose (wanted)
  "When Emacs next lets the user choose from a list, choose the item that holds WANTED."
  (setq completing-read-function
        (lambda (prompt collection &rest more)
          (if (string-prefix-p "M-x" prompt)
              (apply #'completing-read-default prompt collection more)
            (setq drive-offered (all-completions "" collection))
            (seq-find (lambda (item) (string-search wanted item)) drive-offered)))))

(defun drive-let-choose ()
  "From now on Emacs lets the user choose by keys."
  (setq completing-read-function #'completing-read-default))

(defun drive-said (wanted)
  "Whether Emacs has said WANTED."
  (with-current-buffer (messages-buffer)
    (string-search wanted (buffer-string))))

(defun drive-text (buffer)
  "The text of BUFFER."
  (with-current-buffer buffer
    (buffer-substring-no-properties (point-min) (point-max))))

(defun drive-diagnostics (buffer)
  "The diagnostics of BUFFER."
  (with-current-buffer buffer (flymake-diagnostics)))

(defun drive-waits ()
  "What the mode line says of open questions."
  (format-mode-line global-mode-string))

(defun drive-client ()
  "The client that talks to the server: handrail, lsp-mode or eglot."
  (seq-find #'featurep '(handrail lsp-mode eglot)))

(defun drive-connect ()
  "Start the server."
  (pcase (drive-client)
    ('handrail (handrail--with-server #'ignore))
    ('lsp-mode (drive-keys "M-x lsp RET"))
    ('eglot (drive-keys "M-x eglot RET"))))

(defun drive-managed-p ()
  "Whether the server knows the current buffer."
  (pcase (drive-client)
    ('handrail handrail--doc)
    ('lsp-mode (and (drive-server) (eq (lsp--workspace-status (drive-server)) 'initialized)))
    ('eglot (eglot-managed-p))))

(defun drive-server ()
  "The server of the current buffer."
  (pcase (drive-client)
    ('handrail (handrail--here))
    ('lsp-mode (seq-find (lambda (each) (eq (lsp--client-server-id (lsp--workspace-client each)) 'handrail))
                         lsp--buffer-workspaces))
    ('eglot (eglot-current-server))))

(defun drive-kill (server)
  "End SERVER as the system ends a process when memory is short."
  (signal-process (process-id (if (eq (drive-client) 'lsp-mode)
                                  (lsp--workspace-cmd-proc server)
                                (jsonrpc--process server)))
                  'SIGKILL))

(defun drive-write (buffer text)
  "Type TEXT at the end of BUFFER."
  (switch-to-buffer buffer)
  (goto-char (point-max))
  (drive-type text))

(defun drive-act (buffer place wanted)
  "In BUFFER, behind the last PLACE, choose the code action that holds WANTED."
  (switch-to-buffer buffer)
  (goto-char (point-max))
  (search-backward place)
  (drive-choose wanted)
  (drive-keys (if (eq (drive-client) 'lsp-mode) "M-x lsp-execute-code-action RET" "M-x eglot-code-actions RET")))

(defun drive-flag (value)
  "VALUE as JSON's true or false."
  (if value t :json-false))

(defun drive-list (server method)
  "What SERVER lists when asked by METHOD, as a vector."
  (vconcat (if (eq (drive-client) 'lsp-mode)
               (with-lsp-workspace server
                 (lsp-request (substring (symbol-name method) 1) (make-hash-table)))
             (jsonrpc-request server method (make-hash-table)))))

(defun drive-pending-p (server name)
  "Whether SERVER has changes of the file NAME that are neither kept nor undone."
  (seq-some (lambda (hunk) (string-suffix-p name (if (hash-table-p hunk) (gethash "uri" hunk) (plist-get hunk :uri))))
            (drive-list server :handrail/review/list)))

(defun drive-problem (server method params)
  "What SERVER says is wrong with the request METHOD of PARAMS; nil if it takes it."
  (condition-case problem
      (progn (jsonrpc-request server method params) nil)
    (jsonrpc-error (format "%s" problem))))

(defun drive-pass-time (seconds)
  "Let SECONDS pass for the servers, counted from their start; else their time stands still."
  (let ((file (alist-get 'clock drive-run)))
    (write-region (number-to-string seconds) nil (concat file ".new") nil 'silent)
    (rename-file (concat file ".new") file t)))

(defun drive-file (name)
  "The path of the file NAME in the workspace folder."
  (expand-file-name name drive-folder))

(defun drive-there-p (name)
  "Whether the workspace folder has a file NAME, for the record."
  (file-exists-p (drive-file name)))

(defun drive-open-gate ()
  "Let the model that stands still in its answer go on."
  (write-region "" nil (alist-get 'gate drive-run) nil 'silent))

(defun drive--place (position)
  "POSITION as line, counted from 0, and characters before it."
  (goto-char position)
  (list (1- (line-number-at-pos)) (- position (line-beginning-position))))

(defun drive--diagnostic (known)
  "KNOWN, a diagnostic of the current buffer, for the record."
  (save-excursion
    (list (cons 'file (buffer-name))
          (cons 'range (vconcat (drive--place (flymake-diagnostic-beg known))
                                (drive--place (flymake-diagnostic-end known))))
          (cons 'type (symbol-name (flymake-diagnostic-type known)))
          (cons 'text (flymake-diagnostic-text known)))))

(defun drive-snapshot (name)
  "Write down as NAME what Emacs and the disk hold now; buffers as the bytes that they would be written as."
  (let (buffers modified diagnostics disk)
    (dolist (buffer (seq-filter #'buffer-file-name (buffer-list)))
      (with-current-buffer buffer
        (let ((bytes (encode-coding-string (drive-text buffer) buffer-file-coding-system)))
          (push (cons (buffer-name) (base64-encode-string bytes t)) buffers))
        (push (cons (buffer-name) (if (buffer-modified-p) t :json-false)) modified)
        (setq diagnostics (append diagnostics (mapcar #'drive--diagnostic (flymake-diagnostics))))))
    (dolist (file (let ((default-directory drive-folder)) (seq-filter #'file-regular-p (directory-files drive-folder))))
      (with-temp-buffer
        (set-buffer-multibyte nil)
        (insert-file-contents-literally (drive-file file))
        (push (cons file (base64-encode-string (buffer-string) t)) disk)))
    (drive-note name (list (cons 'buffers buffers)
                           (cons 'modified modified)
                           (cons 'diagnostics (vconcat diagnostics))
                           (cons 'disk disk)))))

(defun drive-open (name)
  "Visit the file NAME; returns its buffer."
  (switch-to-buffer (find-file-noselect (drive-file name))))

(defun drive--finish (problem)
  "Write the record, with PROBLEM if there is one, and leave."
  (drive-note 'problem problem)
  (drive-note 'emacs emacs-version)
  (drive-note 'shown (drive-text (messages-buffer)))
  (when problem
    (drive-note 'texts (mapconcat (lambda (buffer) (format "---- %s\n%s" (buffer-name buffer) (drive-text buffer)))
                                  (seq-filter #'buffer-file-name (buffer-list)) "\n")))
  (drive-note 'log (mapconcat (lambda (buffer)
                                (if (string-match-p "\\*\\(EGLOT\\|handrail\\|lsp-log\\)" (buffer-name buffer)) (drive-text buffer) ""))
                              (buffer-list) ""))
  (let ((coding-system-for-write 'utf-8))
    (write-region (json-encode drive-record) nil (alist-get 'record drive-run) nil 'silent))
  (kill-emacs))

(defun drive--tick ()
  "Go on with the steps if Emacs is idle and what they await is there."
  (condition-case problem
      (cond ((> (- (float-time) drive--since) drive-limit-s)
             (drive--finish (format "waited in vain for %s" (car drive--awaited))))
            ((and (current-idle-time) (funcall (cdr drive--awaited)))
             (with-current-buffer (window-buffer) ; as commands are; a timer may come in the midst of an error's report
               (setq drive--awaited (iter-next drive--steps)
                     drive--since (float-time)))))
    (iter-end-of-sequence (drive--finish nil))
    (error (drive--finish (format "%s, awaiting %s" (error-message-string problem) (car drive--awaited))))))

(defun drive-begin (steps)
  "Run STEPS, an iterator."
  (setq drive--steps steps
        drive--awaited (cons "Emacs" #'always))
  (run-with-timer 0 0.01 #'drive--tick))

(let ((settings (alist-get 'settings drive-run)))
  (pcase (drive-client)
    ('handrail
     (setq handrail-settings (mapcar (lambda (each) (cons (symbol-name (car each)) (cdr each))) settings)))
    ('lsp-mode
     (setq lsp-auto-guess-root t      ; else it asks which folder the project is
           lsp-client-packages nil)   ; the servers of languages that it knows
     (lsp-register-custom-settings
      (mapcar (lambda (each) (list (format "handrail.%s" (car each)) (cdr each))) settings)))
    ('eglot (setq-default eglot-workspace-configuration `((:handrail . ,settings))))))
(load (alist-get 'steps drive-run))
