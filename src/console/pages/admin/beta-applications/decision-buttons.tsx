import { Badge, Button, Textarea } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  type ApplicationStatus,
  adminApproveBetaApplication,
  adminRejectBetaApplication,
} from '../../../../contract/beta-applications.ts';
import { FormDialog } from '../../../components/dialog.tsx';
import { useSaveAndClose } from '../../../components/save-form.tsx';
import { callApi } from '../../../data/api-client.ts';

interface DecisionButtonsProps {
  readonly id: number;
  readonly feature: string;
  readonly name: string;
}
type Decision = 'approve' | 'reject';

/** Buttons to approve or reject; each asks for a message to the applicant first. */
export function DecisionButtons(application: DecisionButtonsProps) {
  const { t } = useTranslation('admin-beta-applications');
  const [decision, setDecision] = useState<Decision>();
  return (
    <>
      <Button size="compact-sm" onClick={() => setDecision('approve')}>
        {t('approve')}
      </Button>
      <Button size="compact-sm" variant="default" onClick={() => setDecision('reject')}>
        {t('reject')}
      </Button>
      {decision === undefined ? null : (
        <DecisionDialog {...application} decision={decision} onClose={() => setDecision(undefined)} />
      )}
    </>
  );
}

interface DecisionDialogProps extends DecisionButtonsProps {
  readonly decision: Decision;
  readonly onClose: () => void;
}

function DecisionDialog({ id, feature, name, decision, onClose }: DecisionDialogProps) {
  const { t } = useTranslation('admin-beta-applications');
  const [note, setNote] = useState('');
  const decide = useSaveAndClose(
    () =>
      callApi(decision === 'approve' ? adminApproveBetaApplication : adminRejectBetaApplication, {
        params: { id: String(id) },
        body: { note: note.trim() },
      }),
    { onClose, message: t(decision === 'approve' ? 'approved' : 'rejected') },
  );
  return (
    <FormDialog
      title={t(`${decision}Title`, { feature, name })}
      submitLabel={t(`${decision}`)}
      save={decide}
      onClose={onClose}
    >
      <Textarea
        label={t('note')}
        description={t('noteHint')}
        autosize
        minRows={3}
        maxRows={10}
        maxLength={2_000}
        data-autofocus
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
    </FormDialog>
  );
}

const STATUS_COLOR: Readonly<Record<ApplicationStatus, string>> = {
  pending: 'yellow',
  approved: 'teal',
  rejected: 'red',
};

/** Badge with the status of a beta application. */
export function StatusBadge({ status }: { readonly status: ApplicationStatus }) {
  const { t } = useTranslation('admin-beta-applications');
  return <Badge color={STATUS_COLOR[status]}>{t(`states.${status}`)}</Badge>;
}
