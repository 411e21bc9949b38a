import { NumberInput, SegmentedControl, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminChangeUser } from '../../../../contract/account-admin.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { toQuota } from '../../../data/money.ts';
import { useStatus } from '../../../data/queries.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { useQuota } from '../../../parts/quota.tsx';
import type { User } from './user-page.tsx';

/** Adds to or takes from a wallet; never sets it, as a video may be paid from it at this very moment. */
export function QuotaDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'shell']);
  const refresh = useRefresh();
  const notices = useNotices();
  const quota = useQuota();
  const perUnit = useStatus().data?.quota_per_unit;
  const [way, setWay] = useState<'add' | 'take'>('add');
  const [credits, setCredits] = useState<number | string>('');
  const [note, setNote] = useState('');
  const delta = toQuota(Number(credits), perUnit) * (way === 'add' ? 1 : -1);
  const save = useMutation({
    mutationFn: () =>
      call(adminChangeUser, {
        params: { id: String(user.id) },
        body: { quota_delta: delta, ...(note.trim() === '' ? {} : { note: note.trim() }) },
      }),
    onSuccess: async () => {
      await refresh();
      notices.done(t('users.balanceChanged', { name: user.username }));
      onClose();
    },
  });
  return (
    <Dialog
      title={t('users.balanceTitle', { name: user.username })}
      action={t(way === 'add' ? 'users.add' : 'users.take')}
      busy={save.isPending}
      error={save.error}
      onSubmit={() => save.mutate()}
      onClose={onClose}
      disabled={delta === 0 || user.quota + delta < 0}
    >
      <SegmentedControl
        aria-label={t('users.changeBalance')}
        value={way}
        onChange={(value) => setWay(value as typeof way)}
        data={[
          { value: 'add', label: t('users.add') },
          { value: 'take', label: t('users.take') },
        ]}
      />
      <NumberInput
        label={t('users.credits')}
        min={0}
        max={1e9}
        decimalScale={4}
        thousandSeparator
        hideControls
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
    </Dialog>
  );
}
