;;; handrail.el --- A coding agent that writes in your buffers -*- lexical-binding: t; -*-

;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, convenience

;;; Commentary:

;; Put this file on the `load-path', then in the init file:
;;
;;   (require 'handrail)
;;   (setq handrail-settings '(("model" . "anthropic:claude-sonnet-4-5")))
;;
;; M-x handrail opens the conversation with the agent, a Markdown file in which you write.  This starts the server of
;; the project, which from then on sees the text of all buffers of the project, even unsaved text.  It runs beside eglot
;; and lsp-mode and does not change how they work.
;;
;; handrail                open the conversation; with a region, quote it there; with C-u, mention the file
;; handrail-ask            ask without opening the conversation
;; handrail-send           send what is written in the conversation
;; handrail-stop           stop what is running
;; handrail-new            start another conversation
;; handrail-sessions       choose a conversation
;; handrail-actions        choose a code action at point, such as making an edit that did not land
;; handrail-review         list what the agent has changed
;; handrail-keep, -undo    keep or undo the change at point
;; handrail-restore        show what a turn has changed, and undo it
;; handrail-answer         show a waiting question in full, and answer it
;; handrail-rules          remove a rule that an answer has added
;; handrail-apply-copied   apply the edits of a reply that you have copied from a chat
;; handrail-shutdown       stop the server
;;
;; The agent is told what the servers of eglot and lsp-mode, and the programs that flymake runs, report on what it
;; has changed, and it asks those servers where names are defined and used.
;;
;; Text from models, files and commands is shown as plain text, with codes for invisible characters.  You cannot answer
;; a question by accident: it takes no keys until you run `handrail-answer'.
;;
;; docs/settings.md lists all settings.  Here, leave out the `handrail.' in front of their names.

;;; Code:

(require 'cl-lib)
(require 'flymake)
(require 'jsonrpc)
(require 'parse-time)
(require 'project)
(require 'seq)
(require 'subr-x)
(require 'url-util)

(declare-function jka-compr-get-compression-info "jka-cmpr-hook" (filename))
(declare-function eglot--TextDocumentIdentifier "ext:eglot" ())
(declare-function eglot--capabilities "ext:eglot" (server))
(declare-function eglot--signal-textDocument/didChange "ext:eglot" ())
(declare-function eglot-current-server "ext:eglot" ())
(declare-function eglot-managed-p "ext:eglot" ())
(declare-function lsp--flush-delayed-changes "ext:lsp-mode" ())
(declare-function lsp--registered-capability "ext:lsp-mode" (method))
(declare-function lsp--text-document-identifier "ext:lsp-mode" ())
(declare-function lsp--workspace-server-capabilities "ext:lsp-mode" (workspace))
(declare-function lsp-diagnostics "ext:lsp-mode" (&optional current-workspace))
(declare-function lsp-notify "ext:lsp-mode" (method params))
(declare-function lsp-request-async "ext:lsp-mode" (method params callback &rest options))

(defvar lsp--cur-workspace)

(defgroup handrail nil
  "A coding agent that writes in your buffers."
  :group 'tools)

(defcustom handrail-command '("handrail" "serve")
  "The server's program and its arguments."
  :type '(repeat string))

(defcustom handrail-settings nil
  "Settings of the server, such as ((\"model\" . \"ollama:qwen3\")).
Names are those of docs/settings.md without `handrail.' in front.  Values
are strings, numbers, t, :json-false, or lists and alists of these.

Set it before the server starts, or with \\[customize-option].  In a
directory-local value, only settings count whose scope is window in
docs/settings.md."
  :type '(alist :key-type string :value-type sexp)
  :set (lambda (name value)
         (set-default name value)
         (when (fboundp 'handrail--tell-settings) (handrail--tell-settings))))

(defcustom handrail-delay 0.1
  "Seconds to wait before what you typed is sent to the server."
  :type 'number)

(defface handrail-waits '((t :inherit warning))
  "Face of the text in the mode line that says that the agent is waiting for you.")

;;; Servers

(defclass handrail-server (jsonrpc-process-connection)
  ((root :initarg :root :accessor handrail--root :documentation "The project's folder.")
   (state :initform 'starting :accessor handrail--state :documentation "One of starting, running, ending.")
   (waiting :initform nil :accessor handrail--waiting :documentation "What to do once it runs.")
   (turns :initform nil :accessor handrail--turns :documentation "The running turns: (ID . OUTCOMES).")
   (pending :initform 0 :accessor handrail--pending :documentation "How many changes wait for review."))
  :documentation "The server of a project.")

(defvar handrail--doc)
(defvar handrail--questions)

(defvar handrail--servers nil "The servers that run, or are starting.")

(defconst handrail--served "/\\.handrail/[^/]*\\.md\\'" "Documents that servers write.")

(defvar handrail--ends nil "When servers have ended by themselves.")

(defconst handrail--most-ends 3 "After so many ends in a minute a server is not started again.")
(defconst handrail--log-size 200000 "How many characters of messages are kept.")

(defun handrail--folder ()
  "The folder of the project of this buffer."
  (let ((project (project-current)))
    (file-name-as-directory (file-truename (if project (project-root project) default-directory)))))

(defun handrail--of (file)
  "The server that FILE belongs to: the one with the nearest folder above it."
  (car (sort (seq-filter (lambda (server) (string-prefix-p (handrail--root server) file)) handrail--servers)
             (lambda (one other) (> (length (handrail--root one)) (length (handrail--root other)))))))

(defun handrail--here ()
  "The server of this buffer, or nil."
  (if-let ((document (handrail--the-doc)))
      (handrail--doc-server document)
    (or (handrail--of (file-truename (or (handrail--file) default-directory)))
        (and (null (cdr handrail--servers)) (null (handrail--file)) (car handrail--servers)))))

(defun handrail--running ()
  "The server of this buffer, which must run."
  (let ((server (handrail--here)))
    (cond ((null server) (user-error "No handrail server is running here; start it with M-x handrail"))
          ((eq (handrail--state server) 'starting) (user-error "The handrail server is still starting; try again in a moment"))
          (t server))))

(defun handrail--with-server (act)
  "Call ACT with the server of this buffer, which is started if it does not run."
  (let ((server (or (handrail--here) (handrail--start (handrail--folder)))))
    (if (eq (handrail--state server) 'starting)
        (push act (handrail--waiting server))
      (funcall act server))))

(defun handrail--start (root)
  "Start the server of the project in ROOT."
  (unless (executable-find (car handrail-command))
    (user-error "The program %s was not found; see `handrail-command'" (car handrail-command)))
  (handrail--add-hooks)
  (let* ((default-directory root)
         (name (format "handrail %s" (file-name-nondirectory (directory-file-name root))))
         (server (apply #'make-instance 'handrail-server
                        :name name
                        :root root
                        :process (lambda ()
                                   (make-process :name name
                                                 :command handrail-command
                                                 :connection-type 'pipe
                                                 :coding 'utf-8-emacs-unix
                                                 :noquery t
                                                 :stderr (get-buffer-create (format "*%s stderr*" name))))
                        :request-dispatcher #'handrail--dispatch
                        :notification-dispatcher #'handrail--hear
                        :on-shutdown #'handrail--ended
                        (if (boundp 'jsonrpc-event-hook) ; Emacs 30
                            `(:events-buffer-config (:size ,handrail--log-size :format full))
                          `(:events-buffer-scrollback-size ,handrail--log-size)))))
    (push server handrail--servers)
    (force-mode-line-update t)
    (jsonrpc-async-request
     server :initialize
     (list :processId (emacs-pid)
           :clientInfo (list :name "handrail.el" :version emacs-version)
           :rootUri (handrail--uri root)
           :workspaceFolders (vector (list :uri (handrail--uri root) :name name))
           :capabilities (handrail--capabilities))
     :timeout nil
     :success-fn (lambda (result) (handrail--began-to-run server result))
     :error-fn (lambda (problem)
                 (handrail--say "handrail: the server did not start: %s" (plist-get problem :message))
                 (handrail--end server)))
    server))

(defun handrail--capabilities ()
  "What this client does."
  '(:general (:positionEncodings ["utf-32"])
    :workspace (:applyEdit t
                :workspaceEdit (:documentChanges t :failureHandling "abort")
                :configuration t
                :executeCommand (:dynamicRegistration :json-false))
    :textDocument (:synchronization (:didSave t)
                   :publishDiagnostics (:versionSupport t :dataSupport t)
                   :codeAction (:codeActionLiteralSupport (:codeActionKind (:valueSet ["quickfix"]))
                                :dataSupport t)
                   :completion (:contextSupport :json-false))
    :window (:workDoneProgress t :showDocument (:support t))
    :experimental (:handrail (:turnUpdates t :approvals t :services ["save" "reload" "review" "diagnostics" "definition" "references" "symbols"]))))

(defun handrail--began-to-run (server result)
  "SERVER has answered to `initialize' with RESULT."
  (let ((capabilities (plist-get result :capabilities)))
    (unless (equal (plist-get capabilities :positionEncoding) "utf-32")
      (handrail--end server)
      (user-error "This handrail server is too old for handrail.el; update it"))
    (setf (handrail--state server) 'running)
    (jsonrpc-notify server :initialized (make-hash-table))
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer (handrail--serve)))
    (handrail--request server :handrail/approval/list nil
                       (lambda (questions) (mapc (lambda (question) (handrail--open server question)) questions)))
    (handrail--count-pending server)
    (force-mode-line-update t)
    (mapc (lambda (act) (funcall act server)) (reverse (handrail--waiting server)))
    (setf (handrail--waiting server) nil)))

(defun handrail--forget (server)
  "Forget SERVER and all that it has said."
  (setq handrail--servers (delq server handrail--servers))
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (and handrail--doc (eq server (handrail--doc-server handrail--doc)))
        (handrail--let-go))))
  (handrail--forget-lost)
  (force-mode-line-update t))

(defun handrail--ended (server)
  "SERVER has ended: say so, and start it again if that is of use."
  (let ((lost (length (handrail--turns server)))
        (state (handrail--state server)))
    (setf (handrail--turns server) nil)
    (handrail--forget server)
    (unless (eq state 'ending)
      (let ((again (and (eq state 'running)
                        (file-directory-p (handrail--root server))
                        (handrail--ends-seldom-p))))
        (handrail--say "handrail: the server has ended%s%s"
                       (pcase lost (0 "") (1 " while a turn was running") (_ (format " while %d turns were running" lost)))
                       (if again "; it is being restarted" "; M-x handrail restarts it"))
        ;; Not in the sentinel, which an error would end.
        (when again (run-with-timer 0 nil #'handrail--start (handrail--root server)))))))

(defun handrail--ends-seldom-p ()
  "Note that a server has ended; whether that happens seldom."
  (setq handrail--ends (cons (float-time)
                             (seq-filter (lambda (time) (> time (- (float-time) 60))) handrail--ends)))
  (< (length handrail--ends) handrail--most-ends))

(defun handrail--end (server)
  "End SERVER."
  (setf (handrail--state server) 'ending)
  (when (jsonrpc-running-p server)
    (ignore-errors (jsonrpc-request server :shutdown nil :timeout 3))
    (ignore-errors (jsonrpc-notify server :exit nil))
    (jsonrpc-shutdown server))
  (handrail--forget server))

(defun handrail-shutdown ()
  "Stop the server of this project."
  (interactive)
  (let ((server (or (handrail--here) (user-error "No handrail server is running here"))))
    (handrail--end server)
    (handrail--say "handrail: the server was stopped")))

;;; What the server asks and tells

(cl-defgeneric handrail--handle (server method params)
  "Do what SERVER wants by METHOD with PARAMS.
Returns the result of a request.")

(cl-defmethod handrail--handle (_server _method _params)
  "Anything else is unknown."
  (jsonrpc-error :code -32601 :message "This client does not know the method"))

(defun handrail--dispatch (server method params)
  "Answer the request METHOD of SERVER with PARAMS."
  (handrail--handle server method params))

(defun handrail--hear (server method params)
  "Take the notification METHOD of SERVER with PARAMS; an error in it ends nothing."
  (unless (memq method '(window/logMessage $/cancelRequest))
    (condition-case problem
        (handrail--handle server method params)
      (jsonrpc-error nil)
      (error (message "handrail: %s: %s" method (error-message-string problem))))))

(cl-defmethod handrail--handle (_server (_ (eql 'window/workDoneProgress/create)) _params)
  "All progress is taken."
  nil)

(cl-defmethod handrail--handle (_server (_ (eql '$/progress)) _params)
  "Turns tell of themselves; what else takes long is told when it is done."
  nil)

(cl-defmethod handrail--handle (_server (_ (eql 'window/showMessage)) params)
  "Show the message of PARAMS as plain text."
  (handrail--say "%s" (plist-get params :message)))

(cl-defmethod handrail--handle (_server (_ (eql 'window/showMessageRequest)) params)
  "Show the message of PARAMS, and choose nothing.
No key that is being typed may be an answer."
  (handrail--say "%s" (plist-get params :message))
  nil)

(cl-defmethod handrail--handle (server (_ (eql 'window/showDocument)) params)
  "Show the document of PARAMS, which SERVER names."
  (let ((file (handrail--path (plist-get params :uri))))
    (if (and file (file-exists-p file))
        (progn (handrail--show server file (plist-get (plist-get params :selection) :start))
               '(:success t))
      '(:success :json-false))))

(cl-defmethod handrail--handle (_server (_ (eql 'workspace/configuration)) params)
  "The settings that PARAMS ask for."
  (vconcat (mapcar (lambda (item)
                     (and (equal (plist-get item :section) "handrail")
                          (handrail--settings (plist-get item :scopeUri))))
                   (plist-get params :items))))

(defun handrail--settings (scope)
  "The settings as an object, those of the folder SCOPE if it is given."
  (let ((values (make-hash-table :test #'equal)))
    ;; Else a turn would leave a buffer open for each file that it changes.
    (puthash "edits.closedDocuments" "disk" values)
    (pcase-dolist (`(,name . ,value)
                   (if scope
                       (with-temp-buffer
                         (setq default-directory (file-name-as-directory (handrail--path scope)))
                         (let ((enable-local-variables :safe)) (hack-dir-local-variables-non-file-buffer))
                         handrail-settings)
                     (default-value 'handrail-settings)))
      (puthash (format "%s" name) (handrail--json value) values))
    values))

(defun handrail--json (value)
  "VALUE as `json-serialize' takes it: a list becomes an array, an alist an object."
  (cond ((and (consp value) (consp (car value)) (stringp (caar value)))
         (let ((object (make-hash-table :test #'equal)))
           (pcase-dolist (`(,key . ,each) value) (puthash key (handrail--json each) object))
           object))
        ((consp value) (vconcat (mapcar #'handrail--json value)))
        ((null value) [])
        (t value)))

(defun handrail--tell-settings ()
  "Have the servers ask for the settings again."
  (dolist (server handrail--servers)
    (when (eq (handrail--state server) 'running)
      (jsonrpc-notify server :workspace/didChangeConfiguration (list :settings nil)))))

(defun handrail--request (server method params answered &optional failed)
  "Send SERVER the request METHOD with PARAMS.
ANSWERED gets the result, however late; FAILED is called if there is none."
  (handrail--tell-all server)
  (jsonrpc-async-request
   server method (or params (make-hash-table))
   :timeout nil
   :success-fn answered
   :error-fn (lambda (problem)
               (when failed (funcall failed))
               (unless (eq (plist-get problem :code) -1) ; that the server has ended is said once
                 (handrail--say "handrail: %s" (plist-get problem :message))))))

(defun handrail--ask (server method &optional params)
  "The answer of SERVER to the request METHOD with PARAMS, which is waited for."
  (handrail--tell-all server)
  (condition-case problem
      (jsonrpc-request server method (or params (make-hash-table)) :timeout 30)
    (jsonrpc-error (user-error "%s" (handrail--visible (format "handrail: %s" (alist-get 'jsonrpc-error-message
                                                                                   (cdr problem) "no answer")))))))

(defun handrail--execute (server command arguments)
  "Have SERVER execute COMMAND with ARGUMENTS, a vector.
It tells the user what comes of that."
  (handrail--request server :workspace/executeCommand (list :command command :arguments arguments) #'ignore))

;;; Documents

(cl-defstruct (handrail--doc (:constructor handrail--make-doc) (:copier nil))
  "What a server knows of a buffer."
  server     ; the server
  uri        ; by which the server knows it
  language   ; that the server was told
  (version 0)
  changes    ; that the server was not told yet, the newest first; or `all'
  before     ; the place that is about to change: (BEGINNING END BEGINNING-POSITION END-POSITION)
  tick       ; the state of the buffer that the changes lead to
  (changed 0) ; when the text last changed
  timer      ; tells the server soon
  problems   ; diagnostics
  report)    ; takes them for flymake

(defvar-local handrail--doc nil "What a server knows of this buffer.")
(put 'handrail--doc 'permanent-local t) ; a buffer that gets another mode is still the same document

(defun handrail--the-doc ()
  "What a server knows of this buffer, or of the one that it shows a part of."
  (buffer-local-value 'handrail--doc (or (buffer-base-buffer) (current-buffer))))

(defun handrail--file ()
  "The file of this buffer, or of the one that it shows a part of."
  (buffer-file-name (or (buffer-base-buffer) (current-buffer))))

(defun handrail--uri (file)
  "The URI of FILE."
  (concat "file://" (and (eq system-type 'windows-nt) "/")
          (url-hexify-string (directory-file-name (expand-file-name file)) url-path-allowed-chars)))

(defun handrail--path (uri)
  "The file of URI, or nil if it is not one."
  (when (string-prefix-p "file://" uri)
    (let ((path (decode-coding-string (url-unhex-string (replace-regexp-in-string "\\`file://[^/]*" "" uri)) 'utf-8)))
      (if (eq system-type 'windows-nt) (substring path 1) path))))

(defun handrail--is-served-p ()
  "Whether this buffer holds the text of a file of this machine, as it is."
  (and buffer-file-name
       (not (string-prefix-p " " (buffer-name))) ; that of a program, which borrows the name of a file
       enable-multibyte-characters
       (not (file-remote-p buffer-file-name))
       (not (bound-and-true-p archive-subfile-mode))
       (not (string-match-p "\\.\\(gpg\\|age\\|asc\\)\\'" buffer-file-name)) ; what is secret on the disk stays so
       (not (and (fboundp 'jka-compr-get-compression-info) (jka-compr-get-compression-info buffer-file-name)))))

(defun handrail--serve (&optional server)
  "Tell SERVER that this buffer is open, unless a server knows it.
By default this is the server of its file."
  (when (and (null handrail--doc) (handrail--is-served-p))
    (when-let ((server (or server (handrail--of (file-truename buffer-file-name)))))
      (when (eq (handrail--state server) 'running)
        (setq handrail--doc (handrail--make-doc :server server))
        (add-hook 'before-change-functions #'handrail--before-change nil t)
        (add-hook 'after-change-functions #'handrail--after-change nil t)
        (add-hook 'after-save-hook #'handrail--saved nil t)
        (add-hook 'after-revert-hook #'handrail--reverted nil t)
        (add-hook 'kill-buffer-hook #'handrail--closed nil t)
        (handrail--tell-open)
        (handrail--look-at-mode)))))

(dolist (hook '(handrail--before-change handrail--after-change handrail--saved handrail--reverted handrail--closed))
  (put hook 'permanent-local-hook t))

(defun handrail--tell-open ()
  "Tell the server that this buffer is open, with all that is in it."
  (let ((document handrail--doc))
    (setf (handrail--doc-uri document) (handrail--uri buffer-file-name)
          (handrail--doc-language document) (handrail--mode-language)
          (handrail--doc-changes document) nil
          (handrail--doc-tick document) (buffer-chars-modified-tick))
    (cl-incf (handrail--doc-version document))
    (jsonrpc-notify (handrail--doc-server document) :textDocument/didOpen
                    (list :textDocument (list :uri (handrail--doc-uri document)
                                              :languageId (handrail--doc-language document)
                                              :version (handrail--doc-version document)
                                              :text (handrail--text))))))

(defun handrail--tell-closed ()
  "Tell the server that this buffer is open no longer."
  (when (eq (handrail--state (handrail--doc-server handrail--doc)) 'running)
    (jsonrpc-notify (handrail--doc-server handrail--doc) :textDocument/didClose
                    (list :textDocument (list :uri (handrail--doc-uri handrail--doc))))))

(defun handrail--open-anew ()
  "Close this document and open it again, as it is now."
  (handrail--tell-closed)
  (handrail--tell-open))

(defun handrail--let-go ()
  "This buffer is no document any more."
  (when-let ((timer (handrail--doc-timer handrail--doc))) (cancel-timer timer))
  (setf (handrail--doc-problems handrail--doc) nil)
  (handrail--report)
  (setq handrail--doc nil)
  (remove-hook 'before-change-functions #'handrail--before-change t)
  (remove-hook 'after-change-functions #'handrail--after-change t)
  (remove-hook 'after-save-hook #'handrail--saved t)
  (remove-hook 'after-revert-hook #'handrail--reverted t)
  (remove-hook 'kill-buffer-hook #'handrail--closed t))

(defun handrail--mode-language (&optional mode)
  "The language of MODE, by default of this buffer's."
  (replace-regexp-in-string "\\(-ts\\)?-mode\\'" "" (symbol-name (or mode major-mode))))

(defun handrail--text (&optional beginning end)
  "The text from BEGINNING to END, by default all of it.
It has U+FFFD for bytes that are not characters."
  (save-restriction
    (widen)
    (handrail--characters (buffer-substring-no-properties (or beginning (point-min)) (or end (point-max))))))

(defun handrail--characters (text)
  "TEXT with U+FFFD for bytes that are not characters."
  (replace-regexp-in-string "[\ud800-\udfff\x110000-\x3fffff]" "\ufffd" text t t))

(defun handrail--position (place)
  "PLACE as a position of LSP: a line, and the characters before it there."
  (save-restriction
    (widen)
    (save-excursion
      (goto-char place)
      (list :line (1- (line-number-at-pos)) :character (- place (line-beginning-position))))))

(defun handrail--range (beginning end)
  "What lies between BEGINNING and END, as a range of LSP."
  (list :start (handrail--position beginning) :end (handrail--position end)))

(defun handrail--place (position)
  "The place in this buffer that POSITION, one of LSP, means.
The buffer must be widened."
  (save-excursion
    (goto-char (point-min))
    (if (zerop (forward-line (plist-get position :line)))
        (min (+ (point) (plist-get position :character)) (line-end-position))
      (point-max))))

;; What changes

(defun handrail--before-change (beginning end)
  "What lies between BEGINNING and END is about to change."
  (unless (buffer-base-buffer)
    (unless (eql (handrail--doc-tick handrail--doc) (buffer-chars-modified-tick))
      (setf (handrail--doc-changes handrail--doc) 'all)) ; it was changed unseen, as by an indirect buffer
    (setf (handrail--doc-before handrail--doc)
          (save-match-data (list beginning end (handrail--position beginning) (handrail--position end))))))

(defun handrail--after-change (beginning end length)
  "What was LENGTH long has changed, and lies between BEGINNING and END now."
  (unless (buffer-base-buffer)
    (save-match-data (handrail--note-change beginning end length)))
  (handrail--tell-soon))

(defun handrail--note-change (beginning end length)
  "Note that what was LENGTH long lies between BEGINNING and END now."
  (let* ((document handrail--doc)
         (before (handrail--doc-before document))
         (more (- end beginning length)))
    (setf (handrail--doc-before document) nil
          (handrail--doc-changed document) (float-time)
          (handrail--doc-tick document) (buffer-chars-modified-tick))
    (pcase before
      ((guard (eq (handrail--doc-changes document) 'all)))
      ;; Emacs may announce more than it changes; but what is noted is the announced part, all of it.
      (`(,from ,to ,start ,stop)
       (if (and (<= from beginning) (<= (+ beginning length) to))
           (push (list :range (list :start start :end stop) :text (handrail--text from (+ to more)))
                 (handrail--doc-changes document))
         (setf (handrail--doc-changes document) 'all)))
      (_ (setf (handrail--doc-changes document) 'all)))))

(defun handrail--tell-soon ()
  "Tell the server of what has changed here in a moment."
  (unless (handrail--doc-timer handrail--doc)
    (setf (handrail--doc-timer handrail--doc)
          (run-with-timer handrail-delay nil #'handrail--tell-in (current-buffer)))))

(defun handrail--tell-in (buffer)
  "Tell the server of what has changed in BUFFER."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (when handrail--doc (handrail--tell)))))

(defun handrail--is-told-p ()
  "Whether the server knows all that is in this buffer."
  (and (null (handrail--doc-changes handrail--doc))
       (eql (handrail--doc-tick handrail--doc) (buffer-chars-modified-tick))))

(defun handrail--tell ()
  "Tell the server of what has changed in this buffer."
  (let ((document handrail--doc))
    (when-let ((timer (handrail--doc-timer document))) (cancel-timer timer))
    (setf (handrail--doc-timer document) nil)
    (unless (handrail--is-told-p)
      (let ((changes (if (or (not (eql (handrail--doc-tick document) (buffer-chars-modified-tick)))
                             (eq (handrail--doc-changes document) 'all)
                             (handrail--has-returns-p))
                         (list (list :text (handrail--text)))
                       (reverse (handrail--doc-changes document)))))
        (setf (handrail--doc-changes document) nil
              (handrail--doc-tick document) (buffer-chars-modified-tick))
        (cl-incf (handrail--doc-version document))
        (jsonrpc-notify (handrail--doc-server document) :textDocument/didChange
                        (list :textDocument (list :uri (handrail--doc-uri document)
                                                  :version (handrail--doc-version document))
                              :contentChanges (vconcat changes)))))))

(defun handrail--has-returns-p ()
  "Whether this buffer has carriage returns.
They end lines for the server and not for Emacs."
  (save-restriction
    (widen)
    (save-excursion
      (goto-char (point-min))
      (search-forward "\r" nil t))))

(defun handrail--tell-all (server)
  "Tell SERVER of what has changed in all its documents."
  (dolist (buffer (buffer-list))
    (with-current-buffer buffer
      (when (and handrail--doc (eq server (handrail--doc-server handrail--doc))) (handrail--tell)))))

;; What becomes of files

(defun handrail--saved ()
  "The file of this buffer was saved."
  (unless (buffer-base-buffer)
    (handrail--tell)
    (jsonrpc-notify (handrail--doc-server handrail--doc) :textDocument/didSave
                    (list :textDocument (list :uri (handrail--doc-uri handrail--doc))))))

(defun handrail--reverted ()
  "The buffer holds what is in its file now."
  (unless (buffer-base-buffer) (handrail--open-anew)))

(defun handrail--closed ()
  "The buffer is about to be killed."
  (unless (buffer-base-buffer)
    (handrail--tell-closed)
    (handrail--let-go)))

(defun handrail--renamed ()
  "The buffer has another file now, perhaps one of another server."
  (unless (buffer-base-buffer)
    (when handrail--doc
      (handrail--tell-closed)
      (handrail--let-go))
    (handrail--serve)))

(defun handrail--mode-changed ()
  "The buffer has another mode now."
  (unless (buffer-base-buffer)
    (cond ((null handrail--doc) (handrail--serve))
          ((not (equal (handrail--doc-language handrail--doc) (handrail--mode-language)))
           (handrail--open-anew)
           (handrail--look-at-mode)))))

(defun handrail--add-hooks ()
  "Have the files that are opened from now on served."
  (add-hook 'find-file-hook #'handrail--serve 90)
  (add-hook 'after-set-visited-file-name-hook #'handrail--renamed 90)
  (add-hook 'after-change-major-mode-hook #'handrail--mode-changed 90)
  (add-hook 'eglot-managed-mode-hook #'handrail--look-at-mode 90)
  ;; Text that models have written in a conversation must not choose a mode or set a variable.
  (add-to-list 'inhibit-local-variables-regexps handrail--served)
  (unless (handrail--has-markdown-p)
    (add-to-list 'auto-mode-alist (cons handrail--served #'text-mode)))
  (unless (memq 'handrail--mode-line (flatten-tree global-mode-string))
    (setq global-mode-string (append (or global-mode-string '("")) '((:eval (handrail--mode-line)))))))

(cl-defmethod handrail--handle (_server (_ (eql 'handrail/client/save)) params)
  "Save the documents of PARAMS that can be saved without a question."
  (list :saved (vconcat (seq-filter (lambda (uri)
                                      (when-let ((buffer (handrail--buffer uri)))
                                        (with-current-buffer buffer (handrail--save))))
                                    (plist-get params :uris)))))

(cl-defmethod handrail--handle (_server (_ (eql 'handrail/client/reload)) params)
  "Load the documents of PARAMS again; what the user has not saved stays as it is."
  (seq-do (lambda (uri)
            (when-let ((buffer (handrail--buffer uri)))
              (with-current-buffer buffer (handrail--load))))
          (plist-get params :uris)))

(defun handrail--load ()
  "Load this buffer again if its file was changed, unless it has unsaved text.
Whether it was loaded."
  (unless (or (buffer-modified-p) (verify-visited-file-modtime (current-buffer)))
    (ignore-errors
      (let ((inhibit-message t)) (revert-buffer-with-fine-grain t t)) ; which keeps marks and undo
      (verify-visited-file-modtime (current-buffer)))))

(defun handrail--buffer (uri)
  "The buffer that a server knows as URI."
  (seq-find (lambda (buffer)
              (when-let ((document (buffer-local-value 'handrail--doc buffer)))
                (equal uri (handrail--doc-uri document))))
            (buffer-list)))

(defun handrail--save ()
  "Save this buffer unless that needs a person; whether it is saved."
  (when (and (verify-visited-file-modtime (current-buffer)) (file-writable-p buffer-file-name))
    (let ((require-final-newline (and (eq require-final-newline t) t)))
      (ignore-errors (save-buffer)))
    (not (buffer-modified-p))))

;;; Edits

(cl-defmethod handrail--handle (_server (_ (eql 'workspace/applyEdit)) params)
  "Make the edit of PARAMS, if it is one of the text that is there."
  (handrail--apply (append (plist-get (plist-get params :edit) :documentChanges) nil)))

(defun handrail--apply (changes)
  "Make CHANGES, each of one document, all of them or none.
Returns the answer to `workspace/applyEdit'."
  (let* ((known (mapcar (lambda (change) (handrail--target (plist-get change :textDocument))) changes))
         (reason (seq-some (lambda (each) (and (stringp each) each))
                           (cl-mapcar #'handrail--refusal known changes))))
    (if reason
        (progn (dolist (buffer (seq-filter #'bufferp known))
                 (handrail--tell-in buffer)) ; what it was computed on is told now
               (list :applied :json-false :failureReason reason))
      (cl-mapc (lambda (buffer change)
                 (with-current-buffer buffer
                   (handrail--edit (append (plist-get change :edits) nil))
                   (when handrail--doc (handrail--tell))))
               known changes)
      '(:applied t))))

(defun handrail--target (identifier)
  "The buffer that IDENTIFIER names, or why there is none.
A file that is not open is opened if the server wants it so."
  (let ((uri (plist-get identifier :uri)))
    (or (handrail--buffer uri)
        (and (plist-get identifier :version) "The document is no longer open")
        (let ((file (handrail--path uri)) (enable-local-variables :safe))
          (if (and file (file-exists-p file)) (find-file-noselect file t) "The file does not exist")))))

(defun handrail--refusal (buffer change)
  "Why CHANGE cannot be made in BUFFER, or nil; BUFFER may say why there is none."
  (if (stringp buffer) buffer
    (with-current-buffer buffer
      (let ((version (plist-get (plist-get change :textDocument) :version)))
        (cond ((and version (not (eql version (handrail--doc-version handrail--doc))))
               (format "The document now has version %d, not %d" (handrail--doc-version handrail--doc) version))
              ((and handrail--doc (not (handrail--is-told-p))) "The user is typing in the document")
              (buffer-read-only "The buffer is read-only")
              ;; Emacs would ask about these before the first change, and wait for the answer.
              ((handrail--load) "The file was changed, and the buffer has been loaded again")
              ((and buffer-file-name (stringp (file-locked-p buffer-file-name)))
               "The file is being edited in another Emacs")
              ((seq-some (lambda (edit)
                           (pcase-let ((`(,from . ,to) (handrail--span (plist-get edit :range))))
                             (save-restriction
                               (widen)
                               (string-match-p "[\ud800-\udfff\x110000-\x3fffff]"
                                               (buffer-substring-no-properties from to)))))
                         (plist-get change :edits))
               "The lines have bytes that are not valid characters"))))))

(defun handrail--span (range)
  "The places between which RANGE of LSP lies in this buffer: (BEGINNING . END)."
  (save-restriction
    (widen)
    (cons (handrail--place (plist-get range :start)) (handrail--place (plist-get range :end)))))

(defun handrail--edit (edits)
  "Make EDITS in this buffer as one step of undo.
Point and marks stay at their text."
  (let ((spans (mapcar (lambda (edit)
                         (pcase-let ((`(,from . ,to) (handrail--span (plist-get edit :range))))
                           (list (copy-marker from) (copy-marker to) (plist-get edit :newText))))
                       edits)))
    (save-restriction
      (widen)
      (undo-boundary)
      (let ((group (prepare-change-group)))
        (save-excursion
          (pcase-dolist (`(,from ,to ,text) (reverse spans)) (handrail--replace from to text)))
        (undo-amalgamate-change-group group))
      (undo-boundary))
    (pcase-dolist (`(,from ,to ,_) spans)
      (set-marker from nil)
      (set-marker to nil))))

(defun handrail--replace (from to text)
  "Replace what lies between FROM and TO by TEXT, and no more of it than differs."
  (if (= from to)
      (progn (goto-char from) (insert text))
    (let ((buffer (current-buffer)))
      (with-temp-buffer
        (insert text)
        (let ((new (current-buffer)))
          (with-current-buffer buffer
            (save-restriction
              (narrow-to-region from to)
              (replace-buffer-contents new 0.5))))))))

;;; Problems

(defconst handrail--types [:error :error :warning :note :note] "Types of flymake's, by severity.")

(cl-defmethod handrail--handle (_server (_ (eql 'textDocument/publishDiagnostics)) params)
  "Show the diagnostics of PARAMS with flymake."
  (when-let ((buffer (handrail--buffer (plist-get params :uri))))
    (with-current-buffer buffer
      (setf (handrail--doc-problems handrail--doc) (append (plist-get params :diagnostics) nil))
      (handrail--report))))

(defun handrail--look-at-mode ()
  "Set up what belongs to the mode of this buffer: flymake, and keys."
  (when handrail--doc
    (setf (handrail--doc-report handrail--doc) nil)
    (add-hook 'flymake-diagnostic-functions #'handrail-flymake nil t)
    (when (handrail--doc-problems handrail--doc) (handrail--report))
    (when (handrail--is-conversation-p) (handrail-conversation-mode))))

(defun handrail-flymake (report &rest _)
  "Flymake backend: pass the edits that did not land to REPORT."
  (when handrail--doc
    (setf (handrail--doc-report handrail--doc) report)
    (handrail--report)))

(defun handrail--report ()
  "Give flymake the diagnostics of this buffer."
  (let ((report (handrail--doc-report handrail--doc)))
    (cond ((and flymake-mode report)
           (save-restriction
             (widen)
             (funcall report (mapcar #'handrail--diagnostic (handrail--doc-problems handrail--doc))
                      :region (cons (point-min) (point-max)))))
          ((handrail--doc-problems handrail--doc)
           (unless flymake-mode (flymake-mode))
           (flymake-start)))))

(defun handrail--diagnostic (problem)
  "PROBLEM, a diagnostic of LSP, for flymake."
  (pcase-let* ((`(,from . ,to) (handrail--span (plist-get problem :range)))
               (to (if (< from to) to (save-excursion (goto-char from) (min (1+ (line-end-position)) (point-max))))))
    (flymake-make-diagnostic (current-buffer) from to
                             (aref handrail--types (or (plist-get problem :severity) 1))
                             (handrail--visible (format "%s [%s]: %s" (plist-get problem :source)
                                                        (plist-get problem :code) (plist-get problem :message)))
                             problem)))

;;; What other language servers know

;; eglot and lsp-mode have servers of their own for a buffer, and flymake runs programs on it.  The server cannot see
;; them, so it asks here.  They take their time, and Emacs never stands still for them: the answer is sent later, when
;; all is known or the time is over.

(defconst handrail--most-found 1000 "So many problems of a document, and so many places, are of use to the server.")
(defconst handrail--quiet 0.2 "Servers that report in parts send the next part within so many seconds.")
(defconst handrail--settled 3 "A server that is silent for so many seconds after a buffer opens found nothing.")
(defconst handrail--most-on-others 101 "So many problems of a document that was not asked for; the server ignores more.")
(defconst handrail--look-every 0.05 "How many seconds pass until the reports that came are looked at again.")
(defconst handrail--most-vain 3 "A server that never reports anything is waited for so many times.")
(defconst handrail--long-wait 1 "After so many seconds a server was waited for in vain; some are slow to start.")
(defconst handrail--most-columns 1000 "Columns beyond this one are passed on as they are.")
(defconst handrail--largest-file 10000000 "Larger files are not opened for other servers.")

(defconst handrail--relays '(handrail-flymake eglot-flymake-backend lsp-diagnostics--flymake-backend)
  "Backends of flymake that show what servers report.")

(defconst handrail--providers
  '((:textDocument/definition . :definitionProvider)
    (:textDocument/references . :referencesProvider)
    (:textDocument/documentSymbol . :documentSymbolProvider)
    (:workspace/symbol . :workspaceSymbolProvider)
    (:textDocument/diagnostic . :diagnosticProvider))
  "What a server has among its capabilities if it answers a request.")

(defconst handrail--languages '(("c++" . "cpp") ("js" . "javascript") ("sh" . "shellscript") ("tsx" . "typescriptreact"))
  "Languages that modes name differently from LSP.")

;; Answers that are sent later

(cl-defstruct (handrail--later (:constructor handrail--make-later (server)) (:copier nil))
  "The answer to a request that is sent once it is known."
  server  ; the server that asks
  id      ; of its request
  answer) ; a list of the answer

(cl-defmethod jsonrpc-connection-send ((_server handrail-server) &rest message &key id result &allow-other-keys)
  "Send MESSAGE, unless RESULT is an answer to ID that is not known yet."
  (if (handrail--later-p result)
      (progn (setf (handrail--later-id result) id)
             (handrail--send-later result))
    (cl-call-next-method)))

(defun handrail--answer-later (later answer)
  "Answer the request of LATER with ANSWER, unless it is answered."
  (unless (handrail--later-answer later)
    (setf (handrail--later-answer later) (list answer))
    (handrail--send-later later)))

(defun handrail--send-later (later)
  "Send the answer of LATER if both the request and the answer are known."
  (when (and (handrail--later-id later) (handrail--later-answer later) (jsonrpc-running-p (handrail--later-server later)))
    (jsonrpc-connection-send (handrail--later-server later)
                             :id (handrail--later-id later)
                             :result (car (handrail--later-answer later)))))

;; The servers of other clients, here called peers

(defun handrail--peers ()
  "The servers that eglot and lsp-mode have for this buffer."
  (append (when-let ((server (and (fboundp 'eglot-managed-p) (eglot-managed-p) (eglot-current-server)))) (list server))
          (bound-and-true-p lsp--buffer-workspaces)
          nil)) ; else the list would be lsp-mode's own, which callers must not change

(defun handrail--all-peers (server)
  "The servers that eglot and lsp-mode have for the documents of SERVER."
  (seq-uniq (mapcan (lambda (buffer) (with-current-buffer buffer (handrail--peers))) (handrail--buffers server)) #'eq))

(defun handrail--buffers (server)
  "The buffers that SERVER knows."
  (seq-filter (lambda (buffer)
                (when-let ((document (buffer-local-value 'handrail--doc buffer)))
                  (eq server (handrail--doc-server document))))
              (buffer-list)))

(defun handrail--is-eglots-p (peer)
  "Whether PEER is a server of eglot's, and not one of lsp-mode's."
  (cl-typep peer 'jsonrpc-connection))

(defun handrail--capabilities-of (peer)
  "What PEER says that it can do."
  (if (handrail--is-eglots-p peer) (eglot--capabilities peer) (lsp--workspace-server-capabilities peer)))

(defun handrail--can-p (peer method)
  "Whether PEER answers the request METHOD."
  (let ((capabilities (handrail--capabilities-of peer))
        (name (alist-get method handrail--providers)))
    (or (and (or (hash-table-p capabilities) (plist-member capabilities name)) ; an empty object is nil in a plist
             (let ((said (handrail--field capabilities name)))
               (not (or (eq said :json-false) (and (hash-table-p capabilities) (null said))))))
        (unless (handrail--is-eglots-p peer)
          (let ((lsp--cur-workspace peer)) (lsp--registered-capability (substring (symbol-name method) 1)))))))

(defun handrail--identifier (peer)
  "What PEER knows this buffer by."
  (if (handrail--is-eglots-p peer) (eglot--TextDocumentIdentifier) (lsp--text-document-identifier)))

(defun handrail--encoding-of (peer)
  "What PEER counts columns in."
  (or (handrail--field (handrail--capabilities-of peer) :positionEncoding) "utf-16"))

(defun handrail--ask-peer (peer method params answered failed)
  "Send PEER the request METHOD with PARAMS.
ANSWERED gets the result; FAILED is called if there is none."
  (condition-case nil
      (if (handrail--is-eglots-p peer)
          (jsonrpc-async-request peer method params
                                 :success-fn answered :error-fn (lambda (_) (funcall failed)) :timeout-fn failed)
        (let ((lsp--cur-workspace peer))
          (lsp-request-async (substring (symbol-name method) 1) params answered
                             :error-handler (lambda (_) (funcall failed)) :mode 'detached)))
    (error (funcall failed))))

(defun handrail--notify-peer (peer method params)
  "Send PEER the notification METHOD with PARAMS."
  (ignore-errors
    (if (handrail--is-eglots-p peer)
        (jsonrpc-notify peer method params)
      (let ((lsp--cur-workspace peer)) (lsp-notify (substring (symbol-name method) 1) params)))))

(defun handrail--tell-peers ()
  "Tell other servers at once of what has changed in this buffer.
Their clients would wait until Emacs is idle."
  (ignore-errors
    (when (and (fboundp 'eglot-managed-p) (eglot-managed-p) (fboundp 'eglot--signal-textDocument/didChange))
      (eglot--signal-textDocument/didChange))
    (when (and (bound-and-true-p lsp--buffer-workspaces) (fboundp 'lsp--flush-delayed-changes))
      (lsp--flush-delayed-changes))))

(defun handrail--is-present-p (peer version)
  "Whether VERSION is what PEER calls the text of this buffer.
If it is nil, whether PEER has been told of all that is in the buffer."
  (if (handrail--is-eglots-p peer)
      (and (not (bound-and-true-p eglot--recent-changes))
           (or (null version)
               (eql version (or (bound-and-true-p eglot--docver) (bound-and-true-p eglot--versioned-identifier)))))
    (and (not (seq-some (lambda (each) (eq (nth 1 each) (current-buffer))) (bound-and-true-p lsp--delayed-requests)))
         (or (null version) (eql version (bound-and-true-p lsp--cur-version))))))

(defun handrail--field (object name)
  "The field NAME, a keyword, of OBJECT, which is a plist or a hash table."
  (if (hash-table-p object) (gethash (substring (symbol-name name) 1) object) (plist-get object name)))

;; Columns

(defun handrail--width (character encoding)
  "How many units of ENCODING the CHARACTER takes."
  (pcase encoding
    ("utf-8" (string-bytes (string character)))
    ("utf-16" (if (> character #xffff) 2 1))
    (_ 1)))

(defun handrail--units (place encoding)
  "How many units of ENCODING are before PLACE in its line."
  (save-excursion
    (goto-char place)
    (cl-loop for each from (line-beginning-position) below place sum (handrail--width (char-after each) encoding))))

(defun handrail--count-characters (units encoding)
  "How many characters at point take UNITS units of ENCODING."
  (if (> units handrail--most-columns)
      units
    (cl-loop with place = (point) and end = (line-end-position)
             while (and (> units 0) (< place end))
             do (cl-decf units (handrail--width (char-after place) encoding))
             (cl-incf place)
             finally return (- place (point)))))

(defun handrail--recounter (encoding)
  "A function that takes a range of this buffer which counts in ENCODING.
It returns the range as it is in characters, fast for ranges in order."
  (let* ((buffer (current-buffer))
         (last (save-restriction (widen) (1- (line-number-at-pos (point-max)))))
         (line 0)
         (place 1)
         (recount (lambda (position)
                    (let* ((given (handrail--field position :line))
                           (wanted (min last (max 0 given))))
                      (goto-char place)
                      (forward-line (- wanted line))
                      (setq line wanted place (point))
                      (list :line given
                            :character (handrail--count-characters (handrail--field position :character) encoding))))))
    (lambda (range)
      (with-current-buffer buffer
        (save-excursion
          (save-restriction
            (widen)
            (list :start (funcall recount (handrail--field range :start))
                  :end (funcall recount (handrail--field range :end)))))))))

;; Problems

(cl-defstruct (handrail--report (:copier nil))
  "What a server has last reported on a buffer."
  tick      ; the state of the buffer that it is of, or nil if the buffer had changed by then
  time      ; when it came
  problems) ; what is reported, no more than is of use

(defvar-local handrail--reports nil "What other servers have reported on this buffer: (PEER . REPORT).")

(defvar handrail--reporters (make-hash-table :test #'eq :weakness 'key)
  "Whether other servers ever report: t, or how often one was waited for in vain.")

(defvar handrail--reported-at 0.0 "When another server last reported anything.")

(defun handrail--note-report (peer uri version problems)
  "Note that PEER reports PROBLEMS on VERSION of the document URI."
  (puthash peer t handrail--reporters)
  (setq handrail--reported-at (float-time))
  (when-let ((buffer (handrail--visiting uri)))
    (with-current-buffer buffer
      (let ((is-present (handrail--is-present-p peer version)))
        (unless (and (not is-present) (handrail--has-reported-p peer)) ; a late one on an earlier text
          (setf (alist-get peer handrail--reports nil nil #'eq)
                (make-handrail--report :tick (and is-present (buffer-chars-modified-tick))
                                       :time (float-time)
                                       :problems (seq-take problems (1+ handrail--most-found)))))))))

(defun handrail--visiting (uri)
  "The buffer of the file URI, or nil."
  (let ((file (handrail--path uri)))
    (and file (not (file-remote-p file)) (find-buffer-visiting file))))

(with-eval-after-load 'eglot
  (cl-defmethod eglot-handle-notification :extra "handrail" :before
    ((server eglot-lsp-server) (_method (eql 'textDocument/publishDiagnostics))
     &key uri version diagnostics &allow-other-keys)
    "Note what SERVER reports."
    (with-demoted-errors "handrail: %S" (handrail--note-report server uri version diagnostics))))

(defun handrail--hear-lsp-mode (peer params)
  "Note what PEER, a server of lsp-mode's, reports by PARAMS."
  (with-demoted-errors "handrail: %S"
    (handrail--note-report peer (handrail--field params :uri) (handrail--field params :version)
                           (handrail--field params :diagnostics))))

(with-eval-after-load 'lsp-mode
  (advice-add 'lsp--on-diagnostics :before #'handrail--hear-lsp-mode))

(cl-defmethod handrail--handle (server (_ (eql 'handrail/client/diagnostics)) params)
  "Say what is wrong with the documents of PARAMS, or with all that SERVER knows."
  (if-let ((documents (plist-get params :documents)))
      (handrail--await-reports server
                               (mapcar (lambda (each) (plist-get each :uri)) documents)
                               (/ (plist-get params :waitMs) 1000.0)
                               (mapcar (lambda (each) (plist-get each :uri)) (plist-get params :others)))
    (list :documents (vconcat (handrail--all-problems server)))))

(defun handrail--await-reports (server uris seconds others)
  "Answer SERVER what is wrong with the documents URIS.
That takes SECONDS at most.  Of the documents OTHERS it is said as well
if no other server still reports anything."
  (let ((later (handrail--make-later server))
        (buffers (delq nil (mapcar #'handrail--buffer uris)))
        (deadline (+ (float-time) seconds))
        (is-long (>= seconds handrail--long-wait))
        timer)
    (dolist (buffer buffers)
      (with-current-buffer buffer
        (handrail--tell-peers)
        (handrail--pull-reports)))
    (dolist (buffer (delq nil (mapcar #'handrail--buffer others)))
      (with-current-buffer buffer
        (handrail--pull-reports t)))
    (setq timer (run-with-timer
                 0 handrail--look-every
                 (lambda ()
                   (condition-case problem
                       (when (or (>= (float-time) deadline)
                                 (and (seq-every-p #'handrail--is-settled-p buffers)
                                      (or (null others) (handrail--is-quiet-p))))
                         (cancel-timer timer)
                         (handrail--answer-later
                          later (append (handrail--reports-on uris)
                                        (and others (handrail--is-quiet-p)
                                             (list :others (vconcat (mapcan #'handrail--report-on-other others))))))
                         (when is-long (mapc #'handrail--note-silence buffers)))
                     (error (cancel-timer timer)
                            (handrail--say "handrail: the problems of other servers cannot be read: %s" (error-message-string problem))
                            (handrail--answer-later later nil))))))
    later))

(defun handrail--is-quiet-p ()
  "Whether no other server has reported anything for a moment."
  (>= (- (float-time) handrail--reported-at) handrail--quiet))

(defun handrail--report-on-other (uri)
  "A list of what is wrong with the document URI, which was not changed.
It is empty if the present text is not reported on."
  (when-let ((buffer (handrail--buffer uri)))
    (with-current-buffer buffer
      (let ((peers (handrail--reporting-peers)))
        (when (and peers (seq-every-p #'handrail--is-known-p peers))
          (when-let ((problems (handrail--problems peers nil)))
            (handrail--tell)
            (list (list :uri uri
                        :version (handrail--doc-version handrail--doc)
                        :diagnostics (vconcat (seq-take (seq-filter (lambda (each) (<= (plist-get each :severity) 2))
                                                                    problems)
                                                        handrail--most-on-others))))))))))

(defun handrail--is-known-p (peer)
  "Whether PEER has reported on the text of this buffer, or has nothing to report."
  (or (handrail--has-reported-p peer)
      (and (eq t (gethash peer handrail--reporters))
           (null (alist-get peer handrail--reports nil nil #'eq))
           (>= (- (float-time) (handrail--doc-changed handrail--doc)) handrail--settled))))

(defun handrail--reporting-peers ()
  "The other servers of this buffer that report what is wrong, as far as is known."
  (seq-remove (lambda (peer)
                (let ((known (gethash peer handrail--reporters)))
                  (and (numberp known) (>= known handrail--most-vain))))
              (handrail--peers)))

(defun handrail--checkers ()
  "The programs that flymake runs on this buffer."
  (and flymake-mode
       (seq-difference (flymake-running-backends) (append handrail--relays (flymake-disabled-backends)))))

(defun handrail--has-reported-p (peer)
  "Whether PEER has reported on the text of this buffer."
  (when-let ((report (alist-get peer handrail--reports nil nil #'eq)))
    (eql (handrail--report-tick report) (buffer-chars-modified-tick))))

(defun handrail--has-finished-p (peer)
  "Whether PEER has reported on the text of this buffer, and adds nothing to that."
  (and (handrail--has-reported-p peer)
       (>= (- (float-time) (handrail--report-time (alist-get peer handrail--reports nil nil #'eq))) handrail--quiet)))

(defun handrail--has-checked-p (checker)
  "Whether CHECKER has reported on the text of this buffer."
  (and flymake-check-start-time
       (> flymake-check-start-time (handrail--doc-changed handrail--doc))
       (not (bound-and-true-p flymake--recent-changes)) ; from before the server knew the buffer
       (memq checker (flymake-reporting-backends))))

(defun handrail--is-settled-p (buffer)
  "Whether nothing that is still to come is known of BUFFER.
What flymake does not check by itself, or only once it is shown, is not
waited for."
  (or (not (buffer-live-p buffer))
      (with-current-buffer buffer
        (and (seq-every-p #'handrail--has-finished-p (handrail--reporting-peers))
             (or (null flymake-no-changes-timeout)
                 (null (get-buffer-window))
                 (seq-every-p #'handrail--has-checked-p (handrail--checkers)))))))

(defun handrail--note-silence (buffer)
  "Note which servers of BUFFER have not reported, and never have before."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (dolist (peer (handrail--peers))
        (unless (eq t (gethash peer handrail--reporters))
          (cl-incf (gethash peer handrail--reporters 0)))))))

(defun handrail--pull-reports (&optional is-anew)
  "Ask the servers of this buffer that report only when they are asked.
If IS-ANEW, those are asked as well that have reported on its text."
  (let ((uri (handrail--uri buffer-file-name))
        (tick (buffer-chars-modified-tick))
        (buffer (current-buffer)))
    (dolist (peer (handrail--peers))
      (when (and (handrail--can-p peer :textDocument/diagnostic) (or is-anew (not (handrail--has-reported-p peer))))
        (handrail--ask-peer peer :textDocument/diagnostic (list :textDocument (handrail--identifier peer))
                            (lambda (result)
                              (when (and (equal (handrail--field result :kind) "full")
                                         (buffer-live-p buffer)
                                         (eql tick (buffer-chars-modified-tick buffer)))
                                (handrail--note-report peer uri nil (handrail--field result :items))))
                            #'ignore)))))

(defun handrail--reports-on (uris)
  "What is reported on the documents URIS."
  (let (documents unwatched)
    (dolist (uri uris)
      (let ((buffer (handrail--buffer uri)))
        (if (null buffer)
            (push uri unwatched)
          (with-current-buffer buffer
            (let ((peers (handrail--reporting-peers)) (checkers (handrail--checkers)))
              (cond ((not (or peers checkers)) (push uri unwatched))
                    ((and (seq-every-p #'handrail--has-reported-p peers)
                          (seq-every-p #'handrail--has-checked-p checkers))
                     (when-let ((problems (handrail--problems peers checkers)))
                       (handrail--tell)
                       (push (list :uri uri :version (handrail--doc-version handrail--doc) :diagnostics problems)
                             documents)))))))))
    (list :documents (vconcat documents) :unwatched (vconcat unwatched))))

(defun handrail--problems (peers checkers)
  "What PEERS and CHECKERS report on this buffer, as a vector.
This is nil if it cannot be read."
  (condition-case problem
      (vconcat
       (mapcan (lambda (peer)
                 (when-let ((report (alist-get peer handrail--reports nil nil #'eq)))
                   (handrail--passed-on (handrail--report-problems report) (handrail--encoding-of peer))))
               peers)
       (mapcar (lambda (each)
                 (handrail--passed-on-flymake
                  each (handrail--range (flymake-diagnostic-beg each) (flymake-diagnostic-end each))))
               (seq-filter (lambda (each) (memq (flymake-diagnostic-backend each) checkers))
                           (and checkers (save-restriction (widen) (flymake-diagnostics))))))
    (error (handrail--say "handrail: a server's report cannot be read: %s" (error-message-string problem))
           nil)))

(defun handrail--passed-on (problems encoding)
  "PROBLEMS of this buffer, which count in ENCODING, for the server."
  (let ((recount (handrail--recounter encoding)))
    (mapcar (lambda (each) (handrail--problem each (funcall recount (handrail--field each :range)))) problems)))

(defun handrail--problem (given range)
  "GIVEN, a diagnostic of another server, as one that has RANGE."
  (let ((source (handrail--field given :source)) (code (handrail--field given :code)))
    (append (list :range range
                  :message (handrail--field given :message)
                  :severity (or (handrail--field given :severity) 1))
            (and (stringp source) (list :source source))
            (and (or (stringp code) (numberp code)) (list :code (format "%s" code))))))

(defun handrail--passed-on-flymake (given range)
  "GIVEN, a diagnostic of flymake's, as one that has RANGE."
  (if-let ((reported (ignore-errors (alist-get 'eglot-lsp-diag (flymake-diagnostic-data given)))))
      (handrail--problem reported range)
    (list :range range
          :message (handrail--characters (flymake-diagnostic-text given))
          :severity (pcase (get (flymake-diagnostic-type given) 'flymake-category)
                      ('flymake-warning 2)
                      ('flymake-note 3)
                      (_ 1))
          :source (symbol-name (or (flymake-diagnostic-backend given) 'flymake)))))

(defun handrail--all-problems (server)
  "All that is reported on the files of SERVER, as it is known now."
  (append
   (delq nil (mapcar (lambda (buffer)
                       (with-current-buffer buffer
                         (let ((problems (handrail--problems (handrail--peers)
                                                             (append (handrail--checkers) (handrail--shown-before)))))
                           (unless (seq-empty-p problems)
                             (list :uri (handrail--doc-uri handrail--doc) :diagnostics problems)))))
                     (handrail--buffers server)))
   (handrail--problems-elsewhere server)))

(defun handrail--shown-before ()
  "Backends of flymake that show what servers reported before this file was loaded."
  (unless (seq-every-p (lambda (peer) (assq peer handrail--reports)) (handrail--peers))
    (remq 'handrail-flymake handrail--relays)))

(defun handrail--problems-elsewhere (server)
  "What is reported on files of SERVER that are not open."
  (let ((found (make-hash-table :test #'equal)))
    (cl-flet ((note (file problems)
                (when (and problems (not (file-remote-p file)) (eq server (handrail--of file))
                           (not (find-buffer-visiting file)))
                  (puthash file (append (gethash file found) (seq-take problems handrail--most-found)) found))))
      (pcase-dolist (`(,file . ,problems) flymake-list-only-diagnostics)
        (note file (mapcar (lambda (each)
                             (let ((start (list :line (1- (or (car-safe (flymake-diagnostic-beg each)) 1))
                                                :character 0)))
                               (handrail--passed-on-flymake each (list :start start :end start))))
                           problems)))
      (when (fboundp 'lsp-diagnostics)
        (maphash (lambda (file problems)
                   (note file (mapcar (lambda (each)
                                        (handrail--problem each (handrail--lines (handrail--field each :range))))
                                      problems)))
                 (lsp-diagnostics))))
    (cl-loop for file being the hash-keys of found using (hash-values problems)
             collect (list :uri (handrail--uri file) :diagnostics (vconcat problems)))))

(defun handrail--lines (range)
  "RANGE without its columns.
They cannot be counted anew in a file that is not open."
  (list :start (list :line (handrail--field (handrail--field range :start) :line) :character 0)
        :end (list :line (handrail--field (handrail--field range :end) :line) :character 0)))

;; Names

(cl-defmethod handrail--handle (server (_ (eql 'handrail/client/definition)) params)
  "Say SERVER where the name that PARAMS point at is defined."
  (handrail--find-names server :textDocument/definition params))

(cl-defmethod handrail--handle (server (_ (eql 'handrail/client/references)) params)
  "Say SERVER where the name that PARAMS point at is used."
  (handrail--find-names server :textDocument/references params))

(cl-defmethod handrail--handle (server (_ (eql 'handrail/client/symbols)) params)
  "Say SERVER which names there are in what PARAMS name."
  (handrail--find-names server (if (plist-get params :uri) :textDocument/documentSymbol :workspace/symbol) params))

(defun handrail--find-names (server method params)
  "Answer SERVER what other servers answer to METHOD about what PARAMS name."
  (let* ((uri (plist-get params :uri))
         (buffer (and uri (handrail--buffer uri)))
         (peers (seq-filter (lambda (peer) (handrail--can-p peer method))
                            (cond (buffer (with-current-buffer buffer (handrail--peers)))
                                  (uri (handrail--peers-of-file server (handrail--path uri)))
                                  (t (handrail--all-peers server)))))
         (field (if (plist-get params :position) :locations :symbols)))
    (if (null peers)
        (list field nil)
      (when buffer (with-current-buffer buffer (handrail--tell-peers)))
      (handrail--gather
       server peers (/ (plist-get params :waitMs) 1000.0) field
       (lambda (peer answered failed)
         (cond (buffer (with-current-buffer buffer
                         (handrail--ask-peer peer method (handrail--question method params peer) answered failed)))
               (uri (handrail--ask-about-file peer method params answered failed))
               (t (handrail--ask-peer peer method (list :query (plist-get params :query)) answered failed))))
       (lambda (peer result)
         (if (eq field :locations)
             (handrail--read-places peer result)
           (handrail--read-symbols peer uri result)))))))

(defun handrail--gather (server peers seconds field ask read)
  "Answer SERVER with the FIELD of all that PEERS say, after SECONDS at the latest.
ASK sends the request to one of them, and READ makes a list of its answer.
What is not known in time, or to none of them, is answered with nil."
  (let* ((later (handrail--make-later server))
         (timer (run-with-timer seconds nil #'handrail--answer-later later nil))
         (left (length peers))
         (found nil)
         (is-known nil)
         (finish (lambda ()
                   (when (zerop (cl-decf left))
                     (cancel-timer timer)
                     (handrail--answer-later
                      later (and is-known (list field (vconcat (seq-take found (1+ handrail--most-found)))))))))
         (fail (lambda (&rest _) (funcall finish))))
    (dolist (peer peers)
      (funcall ask peer
               (lambda (result)
                 (condition-case problem
                     (setq found (append found (funcall read peer result))
                           is-known t)
                   (error (handrail--say "handrail: a server's answer cannot be read: %s"
                                         (error-message-string problem))))
                 (funcall finish))
               fail))
    later))

(defun handrail--question (method params peer)
  "What PEER is asked by METHOD about what PARAMS point at in this buffer."
  (let ((position (plist-get params :position)))
    (append (list :textDocument (if buffer-file-name
                                    (handrail--identifier peer)
                                  (list :uri (handrail--uri (file-truename (handrail--path (plist-get params :uri)))))))
            (and position
                 (save-restriction
                   (widen)
                   (list :position
                         (list :line (plist-get position :line)
                               :character (handrail--units (handrail--place position) (handrail--encoding-of peer))))))
            (and (eq method :textDocument/references) '(:context (:includeDeclaration t))))))

(defun handrail--peers-of-file (server file)
  "The servers that buffers of SERVER have for the language of FILE."
  (let ((language (handrail--mode-language (handrail--mode-of file))))
    (seq-uniq (mapcan (lambda (buffer)
                        (with-current-buffer buffer
                          (and (equal language (handrail--mode-language)) (handrail--peers))))
                      (handrail--buffers server))
              #'eq)))

(defun handrail--mode-of (file)
  "The mode that FILE would have, going by its name."
  (let ((mode (assoc-default file auto-mode-alist #'string-match-p)))
    (if (and mode (symbolp mode)) mode 'fundamental-mode)))

(defvar handrail--opened nil
  "How often files are open for other servers: ((PEER . URI) . TIMES).")

(defun handrail--open-for (peer file uri)
  "Open FILE, which PEER knows as URI, for PEER, unless that is done.
Returns a buffer with its text."
  (let ((mode (handrail--mode-of file)) (buffer (generate-new-buffer " *handrail file*" t)))
    (with-current-buffer buffer
      (let ((coding-system-for-read 'utf-8-unix) (file-name-handler-alist nil))
        (ignore-errors (insert-file-contents file)))
      (when (= 1 (cl-incf (alist-get (cons peer uri) handrail--opened 0 nil #'equal)))
        (handrail--notify-peer
         peer :textDocument/didOpen
         (list :textDocument
               (list :uri uri
                     :languageId (or (get mode 'eglot-language-id)
                                     (let ((name (handrail--mode-language mode)))
                                       (alist-get name handrail--languages name nil #'equal)))
                     :version 0
                     :text (handrail--text))))))
    buffer))

(defun handrail--close-for (peer file uri)
  "Close FILE, which PEER knows as URI, for PEER, unless others need it open."
  (when (zerop (cl-decf (alist-get (cons peer uri) handrail--opened 0 t #'equal)))
    (unless (when-let ((buffer (find-buffer-visiting file))) ; the user has opened it by now
              (with-current-buffer buffer (memq peer (handrail--peers))))
      (handrail--notify-peer peer :textDocument/didClose (list :textDocument (list :uri uri))))))

(defun handrail--ask-about-file (peer method params answered failed)
  "Ask PEER by METHOD about what PARAMS point at in a file that is not open.
It is open for PEER until that answers, by ANSWERED or FAILED."
  (let* ((file (handrail--path (plist-get params :uri)))
         (uri (handrail--uri (file-truename file))))
    (if (> (or (file-attribute-size (file-attributes file)) 0) handrail--largest-file)
        (funcall failed)
      (let ((buffer (handrail--open-for peer file uri)))
        (unwind-protect
            (with-current-buffer buffer
              (handrail--ask-peer peer method (handrail--question method params peer)
                                  (lambda (result)
                                    (handrail--close-for peer file uri)
                                    (funcall answered result))
                                  (lambda (&rest _)
                                    (handrail--close-for peer file uri)
                                    (funcall failed))))
          (kill-buffer buffer))))))

(defun handrail--items (result)
  "RESULT, one object of LSP, several, or none, as a list."
  (cond ((vectorp result) (append result nil))
        ((and (consp result) (not (keywordp (car result)))) result)
        (result (list result))))

(defun handrail--ranges (peer)
  "A function that takes a URI and a range in that document as PEER counts.
It returns the place for the server."
  (let ((recounters (make-hash-table :test #'equal)) (encoding (handrail--encoding-of peer)))
    (lambda (uri range)
      (let ((recount (gethash uri recounters 'unknown)))
        (when (eq recount 'unknown)
          (setq recount (when-let ((buffer (handrail--visiting uri)))
                          (with-current-buffer buffer (handrail--recounter encoding))))
          (puthash uri recount recounters))
        (list :uri uri :range (if recount (funcall recount range) (handrail--lines range)))))))

(defun handrail--read-places (peer result)
  "The places of RESULT, which PEER answers: one, several, or links."
  (let ((place (handrail--ranges peer)))
    (mapcar (lambda (each)
              (funcall place
                       (or (handrail--field each :uri) (handrail--field each :targetUri))
                       (or (handrail--field each :range) (handrail--field each :targetSelectionRange))))
            (seq-take (handrail--items result) (1+ handrail--most-found)))))

(defun handrail--read-symbols (peer uri result)
  "The names of RESULT, which PEER answers about URI: a list or a tree."
  (let ((place (handrail--ranges peer)) (left (1+ handrail--most-found)) found)
    (cl-labels ((read (symbols container)
                  (dolist (each (handrail--items symbols))
                    (when (>= (setq left (1- left)) 0)
                      (let ((location (handrail--field each :location))
                            (inside (or (handrail--field each :containerName) container)))
                        (push (append
                               (list :name (handrail--field each :name)
                                     :kind (handrail--field each :kind)
                                     :location (funcall place
                                                        (or (handrail--field location :uri) uri)
                                                        (or (handrail--field location :range)
                                                            (handrail--field each :selectionRange))))
                               (and inside (list :containerName inside)))
                              found))
                      (read (handrail--field each :children) (handrail--field each :name))))))
      (read result nil))
    (nreverse found)))

;;; The conversation

(defvar handrail-conversation-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'handrail-send)
    (define-key map (kbd "C-c C-k") #'handrail-stop)
    (define-key map (kbd "C-c C-a") #'handrail-actions)
    map)
  "Keys in the document of a conversation.")

(define-minor-mode handrail-conversation-mode
  "Keys for the document of a conversation with the agent."
  :lighter " Conversation"
  (if handrail-conversation-mode
      (add-hook 'completion-at-point-functions #'handrail-complete nil t)
    (remove-hook 'completion-at-point-functions #'handrail-complete t)))

(defun handrail--is-conversation-p ()
  "Whether this buffer is the document of a conversation."
  (and handrail--doc (string-match-p "/chat-[^/]*\\.md\\'" buffer-file-name)
       (or (string-match-p "/\\.handrail/[^/]*\\'" buffer-file-name)
           (not (string-prefix-p (handrail--root (handrail--doc-server handrail--doc))
                                 (file-truename buffer-file-name))))))

(defun handrail-complete ()
  "Complete names of files after an @, and commands after a /, before point."
  (when-let* ((document handrail--doc)
              (found (while-no-input
                       (handrail--ask (handrail--doc-server document) :textDocument/completion
                                      (list :textDocument (list :uri (handrail--doc-uri document))
                                            :position (handrail--position (point))))))
              (items (append (if (vectorp found) found (plist-get found :items)) nil))
              (span (plist-get (plist-get (car items) :textEdit) :range)))
    (list (handrail--place (plist-get span :start)) (point)
          (mapcar (lambda (item) (plist-get (plist-get item :textEdit) :newText)) items)
          :exclusive 'no)))

(defun handrail--show (server file &optional position)
  "Show FILE, a document of SERVER, at POSITION."
  (let ((buffer (or (find-buffer-visiting file)
                    (let ((enable-local-variables (and (string-prefix-p (handrail--root server) file) :safe))
                          (auto-mode-alist (if (handrail--has-markdown-p) auto-mode-alist
                                             (cons '("\\.md\\'" . text-mode) auto-mode-alist))))
                      (find-file-noselect file)))))
    (with-current-buffer buffer (handrail--serve server))
    (if (minibufferp)
        (display-buffer buffer)
      (pop-to-buffer buffer))
    (when position
      (with-current-buffer buffer
        (let ((place (handrail--place position)))
          (goto-char place)
          (dolist (window (get-buffer-window-list buffer nil t)) (set-window-point window place)))))))

(defun handrail--has-markdown-p ()
  "Whether a mode for Markdown is installed."
  (assoc-default "a.md" auto-mode-alist #'string-match-p))

(defun handrail--show-conversation (server found)
  "Show the conversation that SERVER has FOUND, where the user continues."
  (handrail--show server (handrail--path (plist-get found :uri))
                  (list :line (plist-get found :line) :character most-positive-fixnum))
  (when (looking-at-p "\n*\\'") (goto-char (point-max))))

(defun handrail--selection ()
  "What the user points at: this document, and what is selected in it."
  (unless (handrail--the-doc) (user-error "This buffer does not visit a file of the project"))
  (append (list :uri (handrail--doc-uri (handrail--the-doc)))
          (when (use-region-p) (list :range (handrail--range (region-beginning) (region-end))))))

;;;###autoload
(defun handrail (&optional about)
  "Open the conversation.
With a region, quote it there for your question.  With ABOUT (a prefix
argument) and no region, mention the file there."
  (interactive "P")
  (let ((buffer (current-buffer))
        (about (or about (use-region-p))))
    (handrail--with-server
     (lambda (server)
       (with-current-buffer (if (buffer-live-p buffer) buffer (current-buffer))
         (handrail--request server
                            (if about :handrail/chat/ask :handrail/chat/open)
                            (and about (handrail--selection))
                            (lambda (found) (handrail--show-conversation server found))))))))

;;;###autoload
(defun handrail-ask (text)
  "Send the question TEXT, about the region if there is one."
  (interactive (list (read-string (if (use-region-p) "Ask about the region: " "Ask: "))))
  (when (string-blank-p text) (user-error "The question is empty"))
  (let ((about (and (use-region-p) (handrail--the-doc) (handrail--selection))))
    (handrail--with-server
     (lambda (server)
       (handrail--request server :handrail/chat/ask (append (list :text text :send t) about)
                          (lambda (_) (handrail--say "handrail: sent; M-x handrail shows the answer")))))))

;;;###autoload
(defun handrail-apply-copied ()
  "Apply the edits of a reply that was copied from a chat."
  (interactive)
  (let ((reply (current-kill 0)))
    (handrail--with-server
     (lambda (server)
       (handrail--request server :handrail/turn/start (list :prompt reply :pasted t) #'ignore)))))

(defun handrail-send ()
  "Send what is written at the end of the conversation."
  (interactive)
  (handrail--request (handrail--running) :handrail/chat/send
                     (and (handrail--is-conversation-p) (list :uri (handrail--doc-uri handrail--doc)))
                     #'ignore))

(defun handrail-stop ()
  "Stop all running turns."
  (interactive)
  (let ((server (handrail--running)))
    (unless (handrail--turns server) (user-error "Nothing is running"))
    (dolist (turn (handrail--turns server))
      (handrail--request server :handrail/turn/cancel (list :turn (car turn)) #'ignore))))

(defun handrail-new ()
  "Begin another conversation."
  (interactive)
  (handrail--with-server
   (lambda (server)
     (handrail--request server :handrail/chat/new nil
                        (lambda (found) (handrail--show-conversation server found))))))

(defun handrail-sessions ()
  "Choose a conversation and open it."
  (interactive)
  (let* ((server (handrail--running))
         (sessions (handrail--ask server :handrail/session/list)))
    (when (seq-empty-p sessions) (user-error "There are no conversations yet"))
    (handrail--request server :handrail/chat/open
                       (list :session (handrail--choose "Conversation: " sessions :session
                                                        (lambda (each)
                                                          (format "%s  %s" (handrail--time (plist-get each :time))
                                                                  (plist-get each :title)))))
                       (lambda (found) (handrail--show-conversation server found)))))

(defun handrail-actions ()
  "Choose a code action at point, or for the region."
  (interactive)
  (let* ((server (handrail--running))
         (document (or (handrail--the-doc) (user-error "This buffer does not visit a file of the project")))
         (from (if (use-region-p) (region-beginning) (point)))
         (to (if (use-region-p) (region-end) (point)))
         (actions (handrail--ask server :textDocument/codeAction
                                 (list :textDocument (list :uri (handrail--doc-uri document))
                                       :range (handrail--range from to)
                                       :context (list :diagnostics (handrail--problems-at from to))))))
    (when (seq-empty-p actions) (user-error "There are no code actions here"))
    (let* ((titles (mapcar (lambda (each) (cons (handrail--visible (plist-get each :title)) each)) actions))
           (chosen (cdr (assoc (completing-read "Code action: " titles nil t) titles)))
           (command (plist-get chosen :command)))
      (when-let ((edit (plist-get chosen :edit)))
        (handrail--apply (append (plist-get edit :documentChanges) nil)))
      (when command
        (handrail--execute server (plist-get command :command) (plist-get command :arguments))))))

(defun handrail--problems-at (from to)
  "The diagnostics between FROM and TO, those of other programs as text."
  (vconcat
   (delq nil
         (mapcar (lambda (each)
                   (let ((data (flymake-diagnostic-data each)))
                     (cond ((and (consp data) (plist-member data :range)) data)
                           ((flymake-diagnostic-buffer each)
                            (list :range (handrail--range (flymake-diagnostic-beg each)
                                                          (flymake-diagnostic-end each))
                                  :message (flymake-diagnostic-text each))))))
                 (flymake-diagnostics from (max to (min (1+ from) (point-max))))))))

;;; Turns

(cl-defmethod handrail--handle (server (_ (eql 'handrail/turn/update)) params)
  "Something has happened in a turn of SERVER, as PARAMS tell."
  (let* ((turn (plist-get params :turn))
         (event (plist-get params :event))
         (known (assoc turn (handrail--turns server))))
    (pcase (plist-get event :kind)
      ("started" (unless known (push (cons turn (make-hash-table :test #'equal)) (handrail--turns server))))
      ("outcome" (when known (puthash (plist-get event :id) (handrail--status event) (cdr known))))
      ("ended"
       (setf (handrail--turns server) (assoc-delete-all turn (handrail--turns server)))
       (handrail--say "handrail: %s" (handrail--ending event (and known (hash-table-values (cdr known)))))))
    (force-mode-line-update t)))

(defun handrail--status (outcome)
  "The status of OUTCOME; \"command\" if a command has changed the file."
  (let ((status (plist-get outcome :status)))
    (if (and (equal status "landed") (equal (plist-get outcome :tool) "terminal")) "command" status)))

(defun handrail--ending (event statuses)
  "How a turn has ended, by its last EVENT and the STATUSES of its edits."
  (let ((reason (plist-get event :reason)))
    (cl-flet ((counted (&rest wanted) (cl-count-if (lambda (status) (member status wanted)) statuses)))
      (let ((landed (counted "landed" "already"))
            (failed (counted "failed"))
            (denied (counted "denied"))
            (changed (counted "command")))
        (concat (pcase (plist-get event :state) ("stopped" "ended early") ("cancelled" "stopped") (state state))
                (if (or (null reason) (string-empty-p reason)) "" (concat ": " (handrail--line reason)))
                (if (zerop (+ landed failed denied)) "" (format "; %s landed" (handrail--number landed "edit")))
                (if (zerop failed) "" (format ", %d did not land" failed))
                (if (zerop denied) "" (format ", %d denied" denied))
                (if (zerop changed) "" (format "; commands changed %s" (handrail--number changed "file"))))))))

(defun handrail--mode-line ()
  "What the mode line says.
What waits for the user comes first, then what runs, then what is to be
reviewed."
  (let ((questions (cl-count-if #'jsonrpc-running-p handrail--questions :key #'car))
        (pending (apply #'+ (mapcar #'handrail--pending handrail--servers))))
    (cond ((> questions 0)
           (propertize (format " handrail is waiting for you (%d)" questions) 'face 'handrail-waits))
          ((seq-some #'handrail--turns handrail--servers) " handrail: thinking")
          ((cl-find 'starting handrail--servers :key #'handrail--state) " handrail: starting")
          ((> pending 0) (format " handrail: %d to review" pending))
          (handrail--servers " handrail: idle")
          (t ""))))

;;; Taking turns back

(defun handrail-restore (checkpoint)
  "Undo what a turn has changed, after showing it.
CHECKPOINT is the id of the turn."
  (interactive
   (let ((checkpoints (handrail--ask (handrail--running) :handrail/checkpoint/list)))
     (when (seq-empty-p checkpoints) (user-error "No turn has changed anything yet"))
     (list (handrail--choose "Undo: " checkpoints :id
                             (lambda (each)
                               (format "%s  %s" (handrail--time (plist-get each :time))
                                       (plist-get each :name)))))))
  (let* ((server (handrail--running))
         (diff (handrail--ask server :handrail/checkpoint/diff (list :checkpoint checkpoint))))
    (when (handrail--confirm "*handrail changes*" "A restore undoes these changes:"
                             (plist-get diff :text) "Undo these changes? ")
      (handrail--request server :handrail/checkpoint/restore (list :checkpoint checkpoint)
                         #'handrail--show-restored))))

(defun handrail--show-restored (report)
  "Say what came of a restore, given its REPORT."
  (cl-flet ((left (said documents)
              (mapconcat (lambda (each) (format said (handrail--file-name each) (plist-get each :reason)))
                         documents "")))
    (handrail--say "handrail: %s%s%s"
                   (handrail--count-restored (length (plist-get report :restored))
                                             (length (plist-get report :deleted)))
                   (left "\n%s was not restored: %s" (plist-get report :conflicts))
                   (left "\nOnly a part of %s was restored: %s" (plist-get report :partial)))))

(defun handrail--count-restored (restored deleted)
  "What a restore did: how many documents it RESTORED and DELETED."
  (cond ((and (> deleted 0) (= restored 0)) (format "%s deleted" (handrail--number deleted "document")))
        ((> deleted 0) (format "%s restored, %d deleted" (handrail--number restored "document") deleted))
        (t (format "%s restored" (handrail--number restored "document")))))

(defun handrail--file-name (document)
  "The name of the file of DOCUMENT, which a report lists."
  (file-name-nondirectory (handrail--path (plist-get document :uri))))

(defun handrail--confirm (name title text question)
  "Show TITLE and TEXT in the buffer NAME, and ask QUESTION.
Returns whether the answer is yes."
  (let ((window (display-buffer (handrail--text-buffer name (lambda () (insert title "\n\n" (handrail--visible text)))))))
    (unwind-protect (yes-or-no-p question)
      (when (window-live-p window) (quit-window nil window)))))

(defun handrail--text-buffer (name write)
  "The buffer NAME with what WRITE inserts, as plain text that cannot be changed."
  (with-current-buffer (get-buffer-create name)
    (let ((inhibit-read-only t))
      (fundamental-mode)
      (erase-buffer)
      (setq bidi-display-reordering nil
            truncate-lines nil)
      (funcall write)
      (goto-char (point-min))
      (setq buffer-read-only t))
    (current-buffer)))

;;; Review

(cl-defmethod handrail--handle (server (_ (eql 'handrail/review/changed)) params)
  "Other changes of the agent wait for review in SERVER, as PARAMS tell."
  (setf (handrail--pending server) (plist-get params :pending))
  (force-mode-line-update t))

(defun handrail--count-pending (server)
  "Ask SERVER how many changes wait for review."
  (handrail--request server :handrail/review/list nil
                     (lambda (hunks)
                       (setf (handrail--pending server) (length hunks))
                       (force-mode-line-update t))))

(defvar handrail-review-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'handrail-review-visit)
    (define-key map "k" #'handrail-keep)
    (define-key map "u" #'handrail-undo)
    map)
  "Keys in the list of changes.")

(define-derived-mode handrail-review-mode special-mode "Review"
  "The changes of the agent that are neither kept nor undone.
\\{handrail-review-mode-map}"
  (setq next-error-function #'handrail--next-change
        revert-buffer-function (lambda (&rest _) (handrail-review)))
  (setq-local bidi-display-reordering nil))

(defvar-local handrail--lists nil "The server whose changes this buffer lists.")

(defun handrail-review ()
  "List the changes that are neither kept nor undone.
`next-error' steps through them."
  (interactive)
  (let* ((server (or (and (derived-mode-p 'handrail-review-mode) handrail--lists) (handrail--running)))
         (hunks (handrail--ask server :handrail/review/list)))
    (setf (handrail--pending server) (length hunks))
    (force-mode-line-update t)
    (with-current-buffer (get-buffer-create "*handrail review*")
      (handrail-review-mode)
      (setq handrail--lists server)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (when (seq-empty-p hunks) (insert "No changes are pending.\n"))
        (seq-do (lambda (hunk) (insert (propertize (handrail--change-line server hunk) 'handrail-hunk hunk) "\n")) hunks)
        (goto-char (point-min)))
      (setq next-error-last-buffer (current-buffer))
      (pop-to-buffer (current-buffer)))))

(defun handrail--change-line (server hunk)
  "HUNK of SERVER as one line."
  (let ((path (handrail--path (plist-get hunk :uri)))
        (after (plist-get hunk :after)))
    (handrail--line
     (format "%s:%d: %s%s"
             (file-relative-name path (handrail--root server))
             (1+ (plist-get (plist-get (plist-get hunk :range) :start) :line))
             (pcase (plist-get hunk :kind)
               ("whole" "changed (not a text file)")
               (kind (format "+%d -%d %s"
                             (handrail--count-lines after)
                             (handrail--count-lines (plist-get hunk :before))
                             (if (equal kind "changed") "" (concat kind " ")))))
             after))))

(defun handrail--count-lines (text)
  "How many lines TEXT has."
  (length (split-string (string-remove-suffix "\n" text) "\n" (string-empty-p text))))

(defun handrail--next-change (count &optional reset)
  "Visit the change COUNT lines on, from the first one if RESET."
  (when reset (goto-char (point-min)))
  (let ((start (line-beginning-position)))
    (unless (and reset (zerop count))
      (forward-line (if (and reset (> count 0)) (1- count) count)))
    (unless (get-text-property (point) 'handrail-hunk)
      (goto-char start)
      (user-error "There are no more changes"))
    (handrail-review-visit)))

(defun handrail-review-visit ()
  "Visit the change that this line lists."
  (interactive)
  (let ((hunk (or (get-text-property (line-beginning-position) 'handrail-hunk) (user-error "There is no change here"))))
    (handrail--show handrail--lists (handrail--path (plist-get hunk :uri)) (plist-get (plist-get hunk :range) :start))))

(defun handrail--hunks (act)
  "Call ACT with the server and the ids of the changes at point, or in the region."
  (let* ((server (or (and (derived-mode-p 'handrail-review-mode) handrail--lists) (handrail--running)))
         (listed (get-text-property (line-beginning-position) 'handrail-hunk))
         (first (1- (line-number-at-pos (if (use-region-p) (region-beginning) (point)) t)))
         (last (1- (line-number-at-pos (if (use-region-p) (region-end) (point)) t)))
         (hunks (if listed (list listed)
                  (seq-filter (lambda (hunk)
                                (let ((range (plist-get hunk :range)))
                                  (and (<= (plist-get (plist-get range :start) :line) last)
                                       (> (max (plist-get (plist-get range :end) :line)
                                               (1+ (plist-get (plist-get range :start) :line)))
                                          first))))
                              (handrail--ask server :handrail/review/list
                                             (list :uri (handrail--doc-uri
                                                         (or (handrail--the-doc)
                                                             (user-error "This buffer does not visit a file of the project")))))))))
    (unless hunks (user-error "There is nothing to review here"))
    (funcall act server (vconcat (mapcar (lambda (hunk) (plist-get hunk :id)) hunks)))))

(defun handrail-keep ()
  "Keep the change at point, or those in the region."
  (interactive)
  (handrail--hunks
   (lambda (server ids)
     (handrail--request server :handrail/review/keep (list :hunks ids)
                        (lambda (kept) (handrail--reviewed server "kept" kept))))))

(defun handrail-undo ()
  "Undo the change at point, or those in the region."
  (interactive)
  (handrail--hunks
   (lambda (server ids)
     (handrail--request server :handrail/review/undo (list :hunks ids)
                        (lambda (undone) (handrail--reviewed server "undone" undone))))))

(defun handrail--reviewed (server done result)
  "Say that SERVER has DONE, in the review, what its RESULT says.
What is left is listed anew."
  (handrail--say "handrail: %s %s%s" (handrail--number (length (plist-get result :hunks)) "change") done
                 (mapconcat (lambda (each)
                              (format "\nA change in %s was not undone: %s%s" (handrail--file-name each)
                                      (plist-get each :reason)
                                      (if (eq (plist-get each :editedByUser) t)
                                          (concat " M-x handrail-actions offers “Undo all of it, including what"
                                                  " you typed” there.")
                                        "")))
                            (plist-get result :conflicts) ""))
  (handrail--count-pending server)
  (when-let ((window (get-buffer-window "*handrail review*" t)))
    (save-selected-window
      (select-window window)
      (let ((line (line-number-at-pos)))
        (handrail-review)
        (forward-line (1- line))))))

;;; Questions

;; A question interrupts nothing and takes no keys.  It waits in the mode line until M-x handrail-answer shows
;; all of it, and takes one of its answers, typed in full.  A question of the model takes any other text too.

(defvar handrail--questions nil "The open questions: (SERVER . QUESTION), the oldest first.")

(defconst handrail--words '(("deny" . "no") ("allow" . "yes") ("session" . "conversation") ("always" . "always"))
  "What is typed for choices that are not the model's own.")

(defun handrail-answer ()
  "Show an open question in full and read an answer to it.
An empty answer leaves it open."
  (interactive)
  (handrail--forget-lost)
  (unless handrail--questions (user-error "No question is waiting for you"))
  (let* ((ids (mapcar (lambda (each) (plist-get (cdr each) :id)) handrail--questions))
         (id (if (cdr ids)
                 (handrail--choose "Question: " (mapcar #'cdr handrail--questions) :id
                                   (lambda (each) (handrail--line (plist-get each :subject))))
               (car ids)))
         (open (cl-find id handrail--questions :key (lambda (each) (plist-get (cdr each) :id)) :test #'equal))
         (words (handrail--answers (cdr open))))
    (display-buffer (handrail--question-buffer (cdr open) (handrail--minutes-left open)))
    (let* ((takes-text (eq (plist-get (cdr open) :takesText) t))
           (prompt (format "Type %s%s (empty to answer later): " (string-join (mapcar #'car words) ", ")
                           (if takes-text ", or your own answer" "")))
           (typed (read-string prompt))
           (choice (or (cdr (assoc typed words))
                       (and takes-text (string-match-p "[^[:space:]]" typed)
                            (or (cdr (assoc (concat "answer " typed) words)) typed)))))
      (handrail--forget-lost) ; its server may have ended while the answer was typed
      (cond ((not (memq open handrail--questions)) (handrail--say "handrail: that question has ended"))
            ((string-empty-p typed) (handrail--say "handrail: the question stays open"))
            ((null choice) (handrail--say "handrail: %S is not one of the answers; the question stays open" typed))
            (t (handrail--request (car open) :handrail/approval/answer (list :approval id :choice choice)
                                  #'ignore))))))

(defun handrail--answers (question)
  "What can be typed to answer QUESTION: (WORD . CHOICE), in order.
The first of its choices is \"deny\"."
  (let ((choices (append (plist-get question :choices) nil))
        (number 0))
    (if (equal (plist-get question :kind) "question")
        (append (mapcar (lambda (choice) (cons (format "answer %d" (cl-incf number)) choice)) (cdr choices))
                '(("no answer" . "deny")))
      (mapcar (lambda (choice) (cons (or (cdr (assoc choice handrail--words)) choice) choice)) choices))))

(defun handrail--minutes-left (open)
  "For how many minutes the question OPEN still waits, as its server counts them.
This is nil if that is not to be had at once."
  (when-let ((known (cl-find (plist-get (cdr open) :id)
                             (ignore-errors
                               (jsonrpc-request (car open) :handrail/approval/list (make-hash-table) :timeout 1))
                             :key (lambda (each) (plist-get each :id)) :test #'equal)))
    (ceiling (plist-get known :secondsLeft) 60)))

(defun handrail--question-buffer (question minutes)
  "A buffer that shows all of QUESTION, which waits for MINUTES, as plain text."
  (handrail--text-buffer "*handrail question*" (lambda () (handrail--insert-question question minutes))))

(defun handrail--is-of-several (question)
  "Whether QUESTION, about files, is about more than one."
  (string-match-p ", \\|/\\'" (plist-get question :subject)))

(defun handrail--heading (question)
  "What QUESTION asks, without its subject."
  (let ((tool (plist-get question :tool)))
    (if (equal tool "handrail")
        "handrail: may the turn continue?"
      (pcase (plist-get question :kind)
        ("question" "handrail: the model asks")
        ("appeared" (if (handrail--is-of-several question)
                        "handrail: may these new files, which were moved away, be put back?"
                      "handrail: may this new file, which was moved away, be put back?"))
        ("saving" (if (handrail--is-of-several question)
                      "handrail: may these documents be saved?" "handrail: may this document be saved?"))
        (_ (format "handrail: may the agent use %s?" (handrail--visible tool t)))))))

(defun handrail--insert-question (question minutes)
  "Insert all of QUESTION, which waits for MINUTES."
  (let ((part (lambda (title text)
                (when (and text (not (equal text "")))
                  (insert title "\n\n" (replace-regexp-in-string "^" "    " (handrail--visible text t)) "\n\n")))))
    (funcall part (handrail--heading question) (plist-get question :subject))
    (funcall part "In the folder" (plist-get question :folder))
    (funcall part "Reason for this question" (plist-get question :detail))
    (funcall part (cond ((not (equal (plist-get question :kind) "appeared")) "What would be written")
                        ((handrail--is-of-several question) "Their contents")
                        (t "Its contents"))
             (plist-get question :diff))
    (let ((adding (seq-intersection (mapcar #'car (handrail--answers question)) '("conversation" "always"))))
      (funcall part (format "Rules that the answer '%s' adds" (string-join adding "' or '"))
               (string-join (append (plist-get question :rules) nil) "\n"))
      (when adding
        (insert "yes: allow it once; "
                (mapconcat (lambda (word)
                             (format "%s: allow it in this %s" word (if (equal word "always") "workspace" word)))
                           adding "; ")
                "\n\n")))
    (when (equal (plist-get question :kind) "question")
      (dolist (each (handrail--answers question))
        (unless (equal (cdr each) "deny") (funcall part (car each) (cdr each))))
      (insert "no answer: the turn continues without an answer\n\n"))
    (let ((after (if (equal (plist-get question :kind) "question")
                     "; without an answer within %s, the turn continues"
                   "; without an answer within %s, the answer is no")))
      (insert "Answer with M-x handrail-answer"
              (if minutes (format after (handrail--number minutes "minute")) "") "\n"))))

(defun handrail--open (server question)
  "Note that QUESTION of SERVER waits for the user."
  (unless (handrail--find question)
    (setq handrail--questions (append handrail--questions (list (cons server question))))
    (handrail--say "handrail: a question is waiting for you; M-x handrail-answer shows it")
    (force-mode-line-update t)))

(defun handrail--close (question)
  "Forget QUESTION, which has ended."
  (setq handrail--questions (delq (handrail--find question) handrail--questions))
  (when-let ((buffer (and (null handrail--questions) (get-buffer "*handrail question*"))))
    (when-let ((window (get-buffer-window buffer t)))
      (save-selected-window (quit-window nil window))) ; what is being typed stays where it is
    (kill-buffer buffer))
  (force-mode-line-update t))

(defun handrail--forget-lost ()
  "Forget the questions of servers that have ended."
  (dolist (open (copy-sequence handrail--questions))
    (unless (jsonrpc-running-p (car open)) (handrail--close (cdr open)))))

(defun handrail--find (question)
  "The open question with the id of QUESTION, with its server."
  (cl-find (plist-get question :id) handrail--questions
           :key (lambda (each) (plist-get (cdr each) :id)) :test #'equal))

(cl-defmethod handrail--handle (server (_ (eql 'handrail/approval/request)) params)
  "Note that the question PARAMS of SERVER waits; the answer follows."
  (handrail--open server params)
  nil)

(cl-defmethod handrail--handle (_server (_ (eql 'handrail/approval/ended)) params)
  "The question that PARAMS name has ended."
  (handrail--close (list :id (plist-get params :approval))))

(defun handrail-rules ()
  "Choose a rule that an answer has added, and remove it."
  (interactive)
  (let* ((server (handrail--running))
         (rules (handrail--ask server :handrail/rules/list)))
    (when (seq-empty-p rules) (user-error "There are no rules from your answers"))
    (handrail--request server :handrail/rules/remove
                       (list :rule (handrail--choose "Remove the rule: " rules :id ; whole: it may end in what differs
                                                     (lambda (each)
                                                       (string-replace "\n" " " (plist-get each :text)))))
                       (lambda (_) (handrail--say "handrail: the rule was removed")))))

;;; What the commands share

(defun handrail--number (count what)
  "COUNT things that WHAT names."
  (format "%d %s%s" count what (if (= count 1) "" "s")))

(defun handrail--choose (prompt values key label)
  "With PROMPT, let the user choose one of VALUES; what it has as KEY.
They are offered in their order, labelled by LABEL."
  (let* ((number 0)
         (labels (mapcar (lambda (each)
                           (cons (format "%d  %s" (cl-incf number) (handrail--visible (funcall label each)))
                                 (plist-get each key)))
                         values)))
    (cdr (assoc (completing-read prompt (handrail--in-order labels) nil t nil nil (caar labels)) labels))))

(defun handrail--in-order (labels)
  "LABELS as a table for completion that is not sorted."
  (lambda (string predicate action)
    (if (eq action 'metadata)
        '(metadata (display-sort-function . identity) (cycle-sort-function . identity))
      (complete-with-action action labels string predicate))))

(defun handrail--time (time)
  "TIME, RFC 3339, as local time."
  (condition-case nil
      (format-time-string "%F %R" (parse-iso8601-time-string time))
    (error time)))

(defun handrail--say (format &rest values)
  "Show a message, made of FORMAT and VALUES."
  (message "%s" (handrail--visible (apply #'format format values))))

(defun handrail--line (text)
  "The beginning of TEXT, as one line."
  (truncate-string-to-width (replace-regexp-in-string "[ \t\r\n]+" " " text) 100 nil nil "..."))

(defun handrail--visible (text &optional exact)
  "TEXT with the numbers of characters that are not seen or reorder others.
EXACT adds blanks that look like others."
  (replace-regexp-in-string
   "[^ -~]"
   (lambda (found)
     (let ((character (aref found 0)))
       (cond ((memq character '(?\n ?\t)) found)
             ((or (memq (get-char-code-property character 'general-category) '(Cc Cf Cn Co Cs Zl Zp))
                  (and exact (memq (get-char-code-property character 'general-category) '(Zs)))
                  (memq character '(#x34f #x115f #x1160 #x17b4 #x17b5 #x2800 #x3164 #xffa0))
                  (<= #x180b character #x180f)
                  (<= #xfe00 character #xfe0f)
                  (<= #xe0100 character #xe01ef))
              (format (cond ((< character #x80) "\\x%02x") ((<= character #xffff) "\\u%04x") (t "\\U%08x")) character))
             (t found))))
   text t t))

(provide 'handrail)
;;; handrail.el ends here
