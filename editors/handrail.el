;;; handrail.el --- handrail in Emacs, through eglot -*- lexical-binding: t; -*-

;; Copy this into your init file.  M-x eglot then starts handrail in a project.
;;
;; M-x handrail            ask, or apply the edits of a reply copied from a chat
;; M-x handrail-stop       stop what is running
;; M-x handrail-restore    choose a checkpoint and restore it
;; M-x handrail-answer     show a question that waits for you in full, and answer it
;; M-x handrail-rules      choose a rule that an answer has added, and remove it

(require 'cl-lib)
(require 'eglot)
(require 'subr-x)

(defclass handrail-server (eglot-lsp-server) () :documentation "The server of handrail.")

;; One server serves all these modes.  `fundamental-mode' must not be among them: every file passes through it
;; before it gets its own mode, and eglot loses those whose mode is not in the list.
(add-to-list 'eglot-server-programs
             '((python-mode c-mode c++-mode java-mode js-mode css-mode html-mode sh-mode ruby-mode
                            emacs-lisp-mode conf-unix-mode text-mode)
               . (handrail-server "handrail" "serve")))

;; Do not ask before each edit: `undo' and M-x handrail-restore take them back.
(setq eglot-confirm-server-initiated-edits nil)

(defvar handrail-serve-all-modes t
  "Whether handrail also serves files in modes that are not in its list.
It leaves those to other servers that are running.  If this is nil,
handrail takes such files for closed: it sees no unsaved text in them.")

;;; Turns

(defvar handrail--turns nil "The running turns: (SERVER . ID), the newest first.")

(defun handrail (prompt)
  "Ask PROMPT, or apply the edits of a reply copied from a chat."
  (interactive (list (read-string "Ask (empty: apply the copied reply): ")))
  (let ((server (handrail--server)))
    (handrail--request server :handrail/turn/start
                       (list :prompt (if (string-empty-p prompt) (current-kill 0) prompt))
                       (lambda (started) (handrail--wait server (plist-get started :turn))))))

(defun handrail--wait (server turn)
  "Say how TURN of SERVER ends."
  (push (cons server turn) handrail--turns)
  (cl-flet ((end () (setq handrail--turns (delete (cons server turn) handrail--turns))))
    (handrail--request server :handrail/turn/wait (list :turn turn)
                       (lambda (report) (end) (handrail--show-report report))
                       (lambda () (end)))))

(defun handrail-stop ()
  "Stop all running turns."
  (interactive)
  (unless handrail--turns (user-error "Nothing is running"))
  (dolist (each handrail--turns)
    (handrail--request (car each) :handrail/turn/cancel (list :turn (cdr each)) #'ignore)))

(defun handrail--show-report (report)
  "Say what came of a turn, and how it ended, given its REPORT."
  (let* ((state (plist-get report :state))
         (reason (or (plist-get report :reason) ""))
         (answer (plist-get report :answer))
         (outcomes (plist-get report :outcomes))
         (ending (cond ((not (equal state "finished")) (concat state (if (string-empty-p reason) "" ": ") reason "; "))
                       ((string-empty-p answer) (concat reason "; "))
                       (t ""))))
    (cl-flet ((counted (status)
                (cl-count status outcomes
                          :key (lambda (outcome) (plist-get outcome :status)) :test #'equal)))
      (handrail--say "%s%shandrail: %s%d edits, %d did not land%s"
                     answer
                     (if (string-empty-p answer) "" "\n")
                     ending
                     (length outcomes)
                     (counted "failed")
                     (if (zerop (counted "denied")) "" (format ", %d denied" (counted "denied")))))))

(defun handrail-restore (checkpoint)
  "Restore the documents of CHECKPOINT, a checkpoint's id."
  (interactive
   (list (handrail--choose "Restore: "
                           (jsonrpc-request (handrail--server) :handrail/checkpoint/list (make-hash-table))
                           (lambda (each) (format "%s  %s" (plist-get each :time) (plist-get each :label))))))
  (handrail--request (handrail--server) :handrail/checkpoint/restore
                     (list :checkpoint checkpoint)
                     (lambda (report)
                       (handrail--say "handrail: %d documents restored"
                                      (+ (length (plist-get report :restored))
                                         (length (plist-get report :deleted)))))))

;;; Questions

;; A question interrupts nothing and takes no keys.  It waits in the mode line until M-x handrail-answer shows
;; all of it, and takes one of its answers, typed in full.

(defvar handrail--questions nil "The open questions: (SERVER . QUESTION), the oldest first.")

(defconst handrail--words '(("deny" . "no") ("allow" . "yes") ("session" . "session") ("always" . "always"))
  "What is typed for choices that are not the model's own.")

(defun handrail-answer ()
  "Show an open question in full and read an answer to it.
An empty answer leaves it open."
  (interactive)
  (handrail--forget-lost)
  (unless handrail--questions (user-error "No question waits for you"))
  (let* ((ids (mapcar (lambda (each) (plist-get (cdr each) :id)) handrail--questions))
         (id (if (cdr ids)
                 (handrail--choose "Question: " (mapcar #'cdr handrail--questions)
                                   (lambda (each) (handrail--line (plist-get each :subject))))
               (car ids)))
         (open (cl-find id handrail--questions :key (lambda (each) (plist-get (cdr each) :id)) :test #'equal))
         (words (handrail--answers (cdr open))))
    (display-buffer (handrail--question-buffer (cdr open) (handrail--minutes-left open)))
    (let* ((prompt (format "Type %s (empty: later): " (string-join (mapcar #'car words) ", ")))
           (choice (cdr (assoc (read-string prompt) words))))
      (handrail--forget-lost) ; its server may have ended while the answer was typed
      (cond ((not (memq open handrail--questions)) (handrail--say "handrail: that question has ended"))
            ((null choice) (handrail--say "handrail: the question stays open"))
            (t (handrail--request (car open) :handrail/approval/answer (list :approval id :choice choice)
                                  #'ignore))))))

(defun handrail--answers (question)
  "What can be typed to answer QUESTION: (WORD . CHOICE)."
  (let ((choices (append (plist-get question :choices) nil))
        (number 0))
    (mapcar (lambda (choice)
              (cons (if (equal (plist-get question :kind) "question")
                        (if (equal choice "deny") "none" (format "answer %d" (cl-incf number)))
                      (or (cdr (assoc choice handrail--words)) choice))
                    choice))
            choices)))

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
  (with-current-buffer (get-buffer-create "*handrail question*")
    (let ((inhibit-read-only t)
          (part (lambda (title text)
                  (when (and text (not (equal text "")))
                    (insert title "\n\n" (replace-regexp-in-string "^" "    " (handrail--visible text t)) "\n\n")))))
      (fundamental-mode)
      (erase-buffer)
      (setq bidi-display-reordering nil
            truncate-lines nil)
      (funcall part (if (equal (plist-get question :kind) "question")
                        "handrail: the model asks"
                      (format "handrail: may it use %s?" (handrail--visible (plist-get question :tool) t)))
               (plist-get question :subject))
      (funcall part "In the folder" (plist-get question :folder))
      (funcall part "It is asked because" (plist-get question :detail))
      (funcall part "What would be written" (plist-get question :diff))
      (funcall part "A yes for the session, or for always, adds the rules"
               (string-join (append (plist-get question :rules) nil) "\n"))
      (when (equal (plist-get question :kind) "question")
        (dolist (each (handrail--answers question))
          (unless (equal (cdr each) "deny") (funcall part (car each) (cdr each)))))
      (insert "Answer with M-x handrail-answer" (if minutes (format "; in %d minutes it ends as a no" minutes) "") "\n")
      (goto-char (point-min))
      (setq buffer-read-only t))
    (current-buffer)))

(defun handrail--open (server question)
  "Note that QUESTION of SERVER waits for the user."
  (unless (handrail--find question)
    (setq handrail--questions (append handrail--questions (list (cons server question))))
    (handrail--say "handrail: a question waits for you; M-x handrail-answer")
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

(add-hook 'eglot-managed-mode-hook #'handrail--forget-lost) ; also runs when a server ends

(defun handrail--find (question)
  "The open question with the id of QUESTION, with its server."
  (cl-find (plist-get question :id) handrail--questions
           :key (lambda (each) (plist-get (cdr each) :id)) :test #'equal))

(defun handrail--mode-line ()
  "What the mode line says of open questions."
  (let ((open (cl-count-if #'jsonrpc-running-p handrail--questions :key #'car)))
    (if (> open 0) (format " handrail waits for you (%d)" open) "")))

(unless (memq 'handrail--mode-line (flatten-tree global-mode-string))
  (setq global-mode-string (append (or global-mode-string '("")) '((:eval (handrail--mode-line))))))

(cl-defmethod eglot-initialization-options ((_server handrail-server))
  "Have questions sent as handrail's own requests.
eglot answers others with the first choice on RET, and not at all on C-g."
  '(:handrail (:approvals t)))

(cl-defmethod eglot-handle-request ((server handrail-server) (_method (eql handrail/approval/request)) &rest question)
  "Note that QUESTION of SERVER waits; the answer follows."
  (handrail--open server question)
  nil)

(cl-defmethod eglot-handle-notification
  ((_server handrail-server) (_method (eql handrail/approval/ended)) &key approval &allow-other-keys)
  "The question APPROVAL has ended."
  (handrail--close (list :id approval)))

(defun handrail-rules ()
  "Choose a rule that an answer has added, and remove it."
  (interactive)
  (let* ((server (handrail--server))
         (rules (jsonrpc-request server :handrail/rules/list (make-hash-table))))
    (when (seq-empty-p rules) (user-error "No answer has added a rule"))
    (handrail--request server :handrail/rules/remove
                       (list :rule (handrail--choose "Remove the rule: " rules ; whole: it may end in what differs
                                                     (lambda (each)
                                                       (string-replace "\n" " " (plist-get each :text)))))
                       (lambda (_) (handrail--say "handrail: the rule is removed")))))

;;; Files in all modes

(defvar-local handrail--visited nil "Whether this buffer's file has been visited, and has its own mode.")
(put 'handrail--visited 'permanent-local t)

(defun handrail--serve-visited ()
  "Serve the file that was visited in this buffer, whatever its mode is."
  (setq handrail--visited t)
  (handrail--serve))

(defun handrail--serve ()
  "Serve this buffer's file, unless another server does."
  (when (and handrail-serve-all-modes handrail--visited buffer-file-name (not (eglot-managed-p)))
    (when-let ((server (handrail--project-server)))
      (setq eglot--cached-server server)
      (eglot--maybe-activate-editing-mode))))

(defun handrail--serve-all (server)
  "Serve the files of SERVER's project that are open, and get its questions."
  (when (object-of-class-p server 'handrail-server)
    (dolist (buffer (buffer-list))
      (with-current-buffer buffer
        (when (and buffer-file-name (eq server (handrail--project-server))) (handrail--serve-visited))))
    (when (seq-contains-p (thread-first (eglot--capabilities server)
                                        (plist-get :experimental) (plist-get :handrail) (plist-get :requests))
                          "handrail/approval/list") ; older servers lack it
      (handrail--request server :handrail/approval/list (make-hash-table)
                         (lambda (questions)
                           (mapc (lambda (question) (handrail--open server question)) questions))))))

(add-hook 'find-file-hook #'handrail--serve-visited 90)
(add-hook 'after-set-visited-file-name-hook #'handrail--serve-visited 90)
(add-hook 'after-change-major-mode-hook #'handrail--serve 90)
(add-hook 'eglot-connect-hook #'handrail--serve-all 90)

;;; What the commands share

(defun handrail--project-server ()
  "The server of handrail's for this buffer's project."
  (cl-find-if (lambda (server) (object-of-class-p server 'handrail-server))
              (gethash (eglot--current-project) eglot--servers-by-project)))

(defun handrail--server ()
  "The server of this buffer."
  (or (handrail--project-server) (user-error "Start handrail with M-x eglot")))

(defun handrail--request (server method params answered &optional failed)
  "Send SERVER the request METHOD with PARAMS.
ANSWERED gets the result, however late; FAILED is called if there is none."
  (jsonrpc-async-request
   server method params
   :timeout nil
   :success-fn answered
   :error-fn (lambda (problem)
               (when failed (funcall failed))
               (handrail--say "handrail: %s" (plist-get problem :message)))))

(defun handrail--choose (prompt values label)
  "With PROMPT, let the user choose one of VALUES, labelled by LABEL; its id."
  (let* ((number 0)
         (labels (mapcar (lambda (each)
                           (cons (format "%d  %s" (cl-incf number) (handrail--visible (funcall label each)))
                                 (plist-get each :id)))
                         values)))
    (cdr (assoc (completing-read prompt labels nil t) labels))))

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
