;;; left-alone.el --- A question is left alone for ten minutes, and then until its time is over -*- lexical-binding: t; -*-

(iter-defun left-alone ()
  (let ((poem (drive-open "poem.txt")) server)
    (drive-connect)
    (drive-await "the server" (with-current-buffer poem (drive-managed-p)))
    (setq server (drive-server))
    (handrail-ask "go")
    (drive-await "the question" (string-search "is waiting for you (1)" (drive-waits)))
    (drive-pass-time 600)
    (drive-note 'left (drive-list server :handrail/approval/list))
    (drive-note 'waits (drive-waits))

    ;; Its time is over while an answer can be typed, and while all of it is shown.
    (drive-keys "M-x handrail-answer RET")
    (drive-await "the place for an answer" (and (get-buffer "*handrail question*") (> (minibuffer-depth) 0)))
    (drive-note 'question (drive-text (get-buffer "*handrail question*")))
    (drive-pass-time 3600)
    (drive-await "the question's end" (not (string-search "is waiting for you" (drive-waits))))
    (drive-keys "y e s RET")
    (drive-await "that to be said" (drive-said "handrail: that question has ended"))
    (drive-await "the report" (drive-said "handrail: finished"))
    (drive-note 'open (drive-list server :handrail/approval/list))
    (drive-note 'poem (drive-text poem))
    (drive-note 'buffer (drive-flag (get-buffer "*handrail question*")))
    (drive-keys "M-x handrail-answer RET")
    (drive-await "that none waits" (drive-said "No question is waiting for you"))
    (drive-note 'late (drive-problem server :handrail/approval/answer
                                     (list :approval (plist-get (aref (cdr (assq 'left drive-record)) 0) :id)
                                           :choice "allow")))))

(drive-begin (left-alone))
