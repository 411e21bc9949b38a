import { Button, Textarea } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminApproveBeta, adminRejectBeta } from '../../../../contract/beta-applications.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { useNotices } from '../../../parts/notices.tsx';

interface DecideProps {
  readonly id: number;
  readonly feature: string;
  readonly name: string;
}
type Decision = 'approve' | 'reject';

/** Two buttons; either asks once for a word to the applicant. */
export function Decide(application: DecideProps) {
  const { t } = useTranslation('desk');
  const [decision, setDecision] = useState<Decision>();
  return (
    <>
      <Button size="compact-sm" onClick={() => setDecision('approve')}>
        {t('beta.approve')}
      </Button>
      <Button size="compact-sm" variant="default" onClick={() => setDecision('reject')}>
        {t('beta.reject')}
      </Button>
      {decision === undefined ? null : (
        <DecideDialog {...application} decision={decision} onClose={() => setDecision(undefined)} />
      )}
    </>
  );
}

interface DecideDialogProps extends DecideProps {
  readonly decision: Decision;
  readonly onClose: () => void;
}

function DecideDialog({ id, feature, name, decision, onClose }: DecideDialogProps) {
  const { t } = useTranslation('desk');
  const refresh = useRefresh();
  const notices = useNotices();
  const [note, setNote] = useState('');
  const decide = useMutation({
    mutationFn: () =>
      call(decision === 'approve' ? adminApproveBeta : adminRejectBeta, {
        params: { id: String(id) },
        body: { note: note.trim() },
      }),
    onSuccess: async () => {
      await refresh();
      notices.done(t(decision === 'approve' ? 'beta.approved' : 'beta.rejected'));
      onClose();
    },
  });
  return (
    <Dialog
      title={t(`beta.${decision}Title`, { feature, name })}
      action={t(`beta.${decision}`)}
      busy={decide.isPending}
      error={decide.error}
      onSubmit={() => decide.mutate()}
      onClose={onClose}
    >
      <Textarea
        label={t('beta.note')}
        description={t('beta.noteHint')}
        autosize
        minRows={3}
        maxRows={10}
        maxLength={2_000}
        data-autofocus
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
    </Dialog>
  );
}
