import {
  Button,
  Group,
  MultiSelect,
  NumberInput,
  SegmentedControl,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { modelsQuery } from '../../../data/models.ts';
import { Failure } from '../../../parts/failure.tsx';
import type { CardDraft } from './card-draft.ts';

interface PlanFormProps {
  readonly start: CardDraft;
  readonly isNew: boolean;
  /** The card of people without a plan: it has no level, length or price, and is always on. */
  readonly isBuiltin?: boolean;
  readonly action: string;
  readonly save: (draft: CardDraft) => Promise<void>;
}

type NumberName = 'level' | 'price' | 'days' | 'hours' | 'credits' | 'weekly';

export function PlanForm({ start, isNew, isBuiltin = false, action, save }: PlanFormProps) {
  const { t } = useTranslation(['plans', 'shell']);
  const [draft, setDraft] = useState(start);
  const set = (part: Partial<CardDraft>): void => setDraft((known) => ({ ...known, ...part }));
  const models = useQuery(modelsQuery);
  const sending = useMutation({ mutationFn: () => save(draft) });
  const number = (name: NumberName, label: string, more: Parameters<typeof NumberInput>[0] = {}) => (
    <NumberInput
      label={label}
      min={0}
      required
      withAsterisk={false}
      hideControls
      inputWrapperOrder={['label', 'input', 'description', 'error']}
      value={draft[name]}
      onChange={(value) => set({ [name]: value })}
      {...more}
    />
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        sending.mutate();
      }}
    >
      <Stack>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput
            label={t('cards.name')}
            maxLength={100}
            required
            value={draft.name}
            onChange={(event) => set({ name: event.currentTarget.value })}
          />
          <TextInput
            label={t('cards.code')}
            description={t('cards.codeHint')}
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            pattern="[a-z0-9][a-z0-9_\-]{0,63}"
            required
            readOnly={!isNew}
            spellCheck={false}
            value={draft.code}
            onChange={(event) => set({ code: event.currentTarget.value })}
          />
        </SimpleGrid>
        <Textarea
          label={`${t('cards.description')} (${t('shell:optional')})`}
          autosize
          minRows={2}
          maxRows={8}
          maxLength={2_000}
          value={draft.description}
          onChange={(event) => set({ description: event.currentTarget.value })}
        />
        {isBuiltin ? null : (
          <SimpleGrid cols={{ base: 1, xs: 3 }}>
            {number('level', t('cards.level'), { description: t('cards.levelHint'), allowDecimal: false, max: 1e6 })}
            {number('price', t('cards.price'), { description: t('cards.priceHint'), decimalScale: 2, max: 1e9 })}
            {number('days', t('cards.duration'), { allowDecimal: false, min: 1, max: 36_500 })}
          </SimpleGrid>
        )}
        <div>
          <Text size="sm" fw={600} mb={4} id="renewed">
            {t('cards.allowance')}
          </Text>
          <SegmentedControl
            aria-labelledby="renewed"
            value={draft.renewed}
            onChange={(renewed) => set({ renewed: renewed as CardDraft['renewed'] })}
            data={[
              { value: 'day', label: t('cards.eachDay') },
              { value: 'period', label: t('cards.eachPeriod') },
            ]}
          />
        </div>
        <SimpleGrid cols={{ base: 1, xs: draft.renewed === 'day' ? 2 : 3 }}>
          {draft.renewed === 'day'
            ? null
            : number('hours', t('cards.hours'), { min: 0.1, max: 8_784, decimalScale: 2 })}
          {number('credits', t('cards.credits'), { decimalScale: 6, max: 1e9 })}
          {number('weekly', t('cards.weekly'), { description: t('cards.weeklyHint'), decimalScale: 6, max: 1e9 })}
        </SimpleGrid>
        <MultiSelect
          label={t('cards.models')}
          description={t('cards.modelsHint')}
          data={[...new Set([...(models.data ?? []).map(({ id }) => id), ...draft.models])]}
          searchable
          clearable
          clearButtonProps={{ 'aria-label': t('shell:remove') }}
          value={[...draft.models]}
          onChange={(next) => set({ models: next })}
        />
        {isBuiltin ? null : (
          <>
            <Switch
              label={t('cards.purchasable')}
              description={t('cards.purchasableHint')}
              checked={draft.purchasable}
              onChange={(event) => set({ purchasable: event.currentTarget.checked })}
            />
            <Switch
              label={t('cards.enabled')}
              description={t('cards.enabledHint')}
              checked={draft.enabled}
              onChange={(event) => set({ enabled: event.currentTarget.checked })}
            />
          </>
        )}
        <Failure error={sending.error} />
        <Group justify="space-between">
          <Text size="xs" c="dimmed">
            {isNew ? '' : t('cards.holders')}
          </Text>
          <Button type="submit" loading={sending.isPending}>
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
