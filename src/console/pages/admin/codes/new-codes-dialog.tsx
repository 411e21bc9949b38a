import { Modal, NumberInput, SegmentedControl, Select, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListCards, adminMakeCodes } from '../../../../contract/packages.ts';
import { listQuery, useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { toEndOfDay } from '../../../data/days.ts';
import { toQuota } from '../../../data/money.ts';
import { useStatus } from '../../../data/queries.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { MadeCodes } from './made-codes.tsx';

const START = {
  kind: 'plan' as 'plan' | 'credits',
  plan: null as string | null,
  credits: 10 as number | string,
  count: 10 as number | string,
  day: '',
  note: '',
};

/** Makes a batch and shows it this once. */
export function NewCodesDialog({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation(['plans', 'shell']);
  const refresh = useRefresh();
  const perUnit = useStatus().data?.quota_per_unit;
  const cards = useQuery(listQuery(adminListCards, { page_size: '50' }));
  const [form, setForm] = useState(START);
  const set = (part: Partial<typeof form>): void => setForm((known) => ({ ...known, ...part }));
  const make = useMutation({
    mutationFn: async () => {
      const value =
        form.kind === 'plan' ? { package_code: form.plan ?? '' } : { quota: toQuota(Number(form.credits), perUnit) };
      const body = { ...value, count: Number(form.count), expires_at: toEndOfDay(form.day), note: form.note.trim() };
      return (await call(adminMakeCodes, { body })).data;
    },
    onSuccess: refresh,
  });
  if (make.data !== undefined) {
    return (
      <Modal
        opened
        onClose={onClose}
        title={t('codes.onceTitle', { count: make.data.codes.length })}
        closeOnClickOutside={false}
        closeOnEscape={false}
        closeButtonProps={{ 'aria-label': t('shell:close') }}
      >
        <MadeCodes codes={make.data.codes} batch={make.data.id} onClose={onClose} />
      </Modal>
    );
  }
  const plans = cards.data?.data
    .filter((card) => !card.system_builtin)
    .map((card) => ({ value: card.package_code, label: card.name }));
  return (
    <Dialog
      title={t('codes.make')}
      action={t('codes.make')}
      busy={make.isPending}
      error={make.error ?? cards.error}
      onSubmit={() => make.mutate()}
      onClose={onClose}
      disabled={form.kind === 'plan' ? form.plan === null : Number(form.credits) <= 0}
    >
      <SegmentedControl
        aria-label={t('codes.kind')}
        value={form.kind}
        onChange={(kind) => set({ kind: kind as typeof form.kind })}
        data={[
          { value: 'plan', label: t('codes.plan') },
          { value: 'credits', label: t('codes.credits') },
        ]}
      />
      {form.kind === 'plan' ? (
        plans?.length === 0 ? (
          <Text size="sm">{t('codes.noPlans')}</Text>
        ) : (
          <Select
            label={t('codes.planName')}
            placeholder={t('codes.choosePlan')}
            data={plans ?? []}
            required
            value={form.plan}
            onChange={(plan) => set({ plan })}
          />
        )
      ) : (
        <NumberInput
          label={t('codes.credits')}
          min={0}
          max={1e9}
          decimalScale={6}
          hideControls
          required
          value={form.credits}
          onChange={(credits) => set({ credits })}
        />
      )}
      <NumberInput
        label={t('codes.count')}
        min={1}
        max={1_000}
        allowDecimal={false}
        required
        value={form.count}
        onChange={(count) => set({ count })}
      />
      <TextInput
        type="date"
        label={t('codes.expires')}
        description={t('codes.expiresHint')}
        value={form.day}
        onChange={(event) => set({ day: event.currentTarget.value })}
      />
      <TextInput
        label={`${t('codes.note')} (${t('shell:optional')})`}
        description={t('codes.noteHint')}
        maxLength={500}
        value={form.note}
        onChange={(event) => set({ note: event.currentTarget.value })}
      />
    </Dialog>
  );
}
