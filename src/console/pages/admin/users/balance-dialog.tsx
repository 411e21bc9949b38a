import { Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminUpdateUser } from '../../../../contract/admin-accounts.ts';
import { AmountInput } from '../../../components/amount-input.tsx';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { useFormatCredits } from '../../../components/use-format-credits.ts';
import { useSaveAndClose } from '../../../components/use-save-and-close.ts';
import type { User } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { creditsToQuota } from '../../../data/credits-to-quota.ts';
import { useStatus } from '../../../data/signed-in-user-and-site-queries.ts';

/** Adds to or takes from a wallet; never sets it, as a video may be paid from it at this very moment. */
export function BalanceDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const { t } = useTranslation('admin');
  const quota = useFormatCredits();
  const perUnit = useStatus().data?.quota_per_unit;
  const [direction, setWay] = useState<'add' | 'take'>('add');
  const [credits, setCredits] = useState<number | string>('');
  const [note, setNote] = useState('');
  const delta = creditsToQuota(Number(credits), perUnit) * (direction === 'add' ? 1 : -1);
  const save = useSaveAndClose(
    () =>
      callApi(adminUpdateUser, {
        params: { id: String(user.id) },
        body: { quota_delta: delta, note: note.trim() || undefined },
      }),
    { onClose, message: t('users.balanceChanged', { name: user.username }) },
  );
  return (
    <FormDialog
      title={t('users.balanceTitle', { name: user.username })}
      submitLabel={t(direction === 'add' ? 'users.add' : 'users.take')}
      save={save}
      onClose={onClose}
      disabled={delta === 0 || user.quota + delta < 0}
    >
      <SegmentedControl
        aria-label={t('users.changeBalance')}
        value={direction}
        onChange={(value) => setWay(value as typeof direction)}
        data={[
          { value: 'add', label: t('users.add') },
          { value: 'take', label: t('users.take') },
        ]}
      />
      <AmountInput
        label={t('users.credits')}
        max={1e9}
        thousandSeparator
        required
        data-autofocus
        value={credits}
        onChange={setCredits}
        error={user.quota + delta < 0 ? t('users.tooMuch') : undefined}
      />
      <TextInput
        label={t('users.note')}
        description={t('users.noteHint')}
        maxLength={500}
        value={note}
        onChange={(event) => setNote(event.currentTarget.value)}
      />
      <Text size="sm" role="status">
        {t('users.afterwards', { before: quota(user.quota), after: quota(Math.max(0, user.quota + delta)) })}
      </Text>
    </FormDialog>
  );
}
