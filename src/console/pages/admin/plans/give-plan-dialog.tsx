import { NumberInput, Select } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { activatePackage, adminListCards, NO_PACKAGE } from '../../../../contract/packages.ts';
import { listQuery, useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { useNotices } from '../../../parts/notices.tsx';

interface GivePlanDialogProps {
  readonly user: { readonly id: number; readonly username: string };
  readonly onClose: () => void;
}

/** Gives an account a plan without a code, or ends the one it has. */
export function GivePlanDialog({ user, onClose }: GivePlanDialogProps) {
  const { t } = useTranslation('plans');
  const refresh = useRefresh();
  const notices = useNotices();
  const cards = useQuery(listQuery(adminListCards, { page_size: '50' }));
  const [code, setCode] = useState<string | null>(null);
  const [days, setDays] = useState<number | string>('');
  const name = user.username;
  const give = useMutation({
    mutationFn: () =>
      call(activatePackage, {
        body: {
          user_id: user.id,
          package_code: code ?? NO_PACKAGE,
          ...(days === '' || code === NO_PACKAGE ? {} : { duration_days: Number(days) }),
        },
      }),
    onSuccess: async () => {
      await refresh();
      notices.done(t('give.done', { name }));
      onClose();
    },
  });
  return (
    <Dialog
      title={t('give.title', { name })}
      action={t('give.action')}
      busy={give.isPending}
      error={give.error ?? cards.error}
      onSubmit={() => give.mutate()}
      onClose={onClose}
      disabled={code === null}
    >
      <Select
        label={t('give.plan')}
        placeholder={t('codes.choosePlan')}
        data={[
          ...(cards.data?.data ?? [])
            .filter((card) => !card.system_builtin)
            .map((card) => ({ value: card.package_code, label: card.name })),
          { value: NO_PACKAGE, label: t('give.none') },
        ]}
        required
        data-autofocus
        value={code}
        onChange={setCode}
      />
      {code === NO_PACKAGE ? null : (
        <NumberInput
          label={t('give.days')}
          description={t('give.daysHint')}
          min={1}
          max={36_500}
          allowDecimal={false}
          hideControls
          value={days}
          onChange={setDays}
        />
      )}
    </Dialog>
  );
}
