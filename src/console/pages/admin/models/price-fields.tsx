import {
  ActionIcon,
  Autocomplete,
  Button,
  Group,
  NumberInput,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { ModelKind } from '../../../../contract/model-kinds.ts';
import { AmountInput } from '../../../components/amount-input.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { DECIMALS, type MultiplierFormValues, type PriceFormValues } from './price-form-values.ts';
import { emptyLine } from './price-line-form-values.ts';
import { PriceLinesEditor } from './price-lines-editor.tsx';
import { TokenPriceFields } from './token-price-fields.tsx';

interface PriceFieldsProps {
  readonly kind: ModelKind;
  readonly draft: PriceFormValues;
  readonly onChange: (draft: PriceFormValues) => void;
}

/** Factors the vendors' adapters name; others may be typed, and never apply. */
const FACTORS = ['mode', 'resolution', 'size', 'audio'];

export function PriceFields({ kind, draft, onChange }: PriceFieldsProps) {
  const { t } = useTranslation('admin-models');
  const amount = (name: 'perCall' | 'perSecond') => (
    <AmountInput
      label={t(`price.${name}`)}
      max={1e6}
      decimalScale={DECIMALS}
      required
      withAsterisk={false}
      value={draft[name]}
      onChange={(value) => onChange({ ...draft, [name]: value })}
    />
  );
  if (kind === 'chat') return <TokenPriceFields draft={draft} onChange={onChange} />;
  const { multipliers } = draft;
  const change = (key: number, part: Partial<MultiplierFormValues>): void =>
    onChange({ ...draft, multipliers: multipliers.map((each) => (each.key === key ? { ...each, ...part } : each)) });
  const add = (): void => {
    const key = Math.max(0, ...multipliers.map((each) => each.key)) + 1;
    onChange({ ...draft, multipliers: [...multipliers, { key, factor: 'mode', value: '', by: 2 }] });
  };
  return (
    <Stack gap="sm">
      <SegmentedControl
        fullWidth
        aria-label={t('price.form')}
        value={draft.isLined ? 'lines' : 'plain'}
        onChange={(form) => onChange(toForm(draft, form === 'lines'))}
        data={(['plain', 'lines'] as const).map((value) => ({ value, label: t(`price.forms.${value}`) }))}
      />
      {draft.isLined ? (
        <PriceLinesEditor draft={draft} onChange={onChange} />
      ) : (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {amount('perSecond')}
          {amount('perCall')}
        </SimpleGrid>
      )}
      <Text size="sm" fw={600}>
        {t('price.multipliers')}
      </Text>
      <Text size="xs" c="dimmed" mt={-8}>
        {t('price.multipliersHint')}
      </Text>
      {multipliers.map((multiplier, index) => (
        <MultiplierRow
          key={multiplier.key}
          place={index + 1}
          multiplier={multiplier}
          onChange={(part) => change(multiplier.key, part)}
          onRemove={() => onChange({ ...draft, multipliers: multipliers.filter((each) => each !== multiplier) })}
        />
      ))}
      <div>
        <Button variant="default" size="compact-sm" leftSection={<IconPlus size={14} />} onClick={add}>
          {t('price.addMultiplier')}
        </Button>
      </div>
    </Stack>
  );
}

/** A price with lines has at least one; what was typed in the other form is kept until it is saved. */
const toForm = (draft: PriceFormValues, isLined: boolean): PriceFormValues => ({
  ...draft,
  isLined,
  settleBy: isLined ? draft.settleBy : 'request',
  lines: isLined && draft.lines.length === 0 ? [emptyLine(1)] : draft.lines,
});

interface MultiplierRowProps {
  /** Counted from 1, for the labels. */
  readonly place: number;
  readonly multiplier: MultiplierFormValues;
  readonly onChange: (part: Partial<MultiplierFormValues>) => void;
  readonly onRemove: () => void;
}

function MultiplierRow({ place, multiplier: { factor, value, by }, onChange, onRemove }: MultiplierRowProps) {
  const { t } = useTranslation('admin-models');
  return (
    <Group gap="xs" wrap="nowrap">
      <Autocomplete
        aria-label={t('price.factorAt', { place })}
        placeholder={t('price.factor')}
        data={FACTORS}
        flex={1}
        miw={0}
        value={factor}
        onChange={(next) => onChange({ factor: next })}
      />
      <TextInput
        aria-label={t('price.valueAt', { place })}
        placeholder="pro"
        flex={1}
        miw={0}
        maxLength={64}
        value={value}
        onChange={(event) => onChange({ value: event.currentTarget.value })}
      />
      <NumberInput
        aria-label={t('price.byAt', { place })}
        leftSection="×"
        w={96}
        min={0}
        max={1000}
        decimalScale={9}
        hideControls
        value={by}
        onChange={(next) => onChange({ by: next })}
      />
      <ActionIcon aria-label={t('price.removeAt', { place })} onClick={onRemove}>
        <IconTrash size={16} />
      </ActionIcon>
    </Group>
  );
}
