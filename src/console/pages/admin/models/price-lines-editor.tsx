import {
  ActionIcon,
  Button,
  Card,
  Group,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { AmountInput } from '../../../components/amount-input.tsx';
import type { PriceFormValues } from './price-form-values.ts';
import { emptyLine, LINE_AMOUNTS, type PriceLineFormValues, parseWhen } from './price-line-form-values.ts';

interface PriceLineFieldsProps {
  readonly draft: PriceFormValues;
  readonly onChange: (draft: PriceFormValues) => void;
}

/** The lines of a price that depends on facts: the first whose condition fits is charged. */
export function PriceLinesEditor({ draft, onChange }: PriceLineFieldsProps) {
  const { t } = useTranslation('admin-models');
  const { lines } = draft;
  const change = (key: number, part: Partial<PriceLineFormValues>): void =>
    onChange({ ...draft, lines: lines.map((each) => (each.key === key ? { ...each, ...part } : each)) });
  const add = (): void =>
    onChange({ ...draft, lines: [...lines, emptyLine(Math.max(0, ...lines.map(({ key }) => key)) + 1)] });
  return (
    <Stack gap="sm">
      <Select
        label={t('price.settleBy')}
        description={t('price.settleByHint')}
        data={(['request', 'vendor'] as const).map((value) => ({ value, label: t(`price.settle.${value}`) }))}
        value={draft.settleBy}
        onChange={(value) => onChange({ ...draft, settleBy: value === 'vendor' ? 'vendor' : 'request' })}
        allowDeselect={false}
      />
      <Text size="xs" c="dimmed">
        {t('price.linesHint')}
      </Text>
      {lines.map((line, index) => (
        <LineCard
          key={line.key}
          place={index + 1}
          line={line}
          hasUnits={draft.settleBy === 'vendor'}
          onChange={(part) => change(line.key, part)}
          onRemove={() => onChange({ ...draft, lines: lines.filter((each) => each !== line) })}
        />
      ))}
      <div>
        <Button variant="default" size="compact-sm" leftSection={<IconPlus size={14} />} onClick={add}>
          {t('price.addLine')}
        </Button>
      </div>
    </Stack>
  );
}

interface LineCardProps {
  /** Counted from 1, for the labels. */
  readonly place: number;
  readonly line: PriceLineFormValues;
  readonly hasUnits: boolean;
  readonly onChange: (part: Partial<PriceLineFormValues>) => void;
  readonly onRemove: () => void;
}

/** Not amounts: how many units are reserved. */
const COUNTS: ReadonlySet<string> = new Set(['max_units', 'max_units_per_second']);
const OF_UNITS: ReadonlySet<string> = new Set(['per_unit', ...COUNTS]);

function LineCard({ place, line, hasUnits, onChange, onRemove }: LineCardProps) {
  const { t } = useTranslation('admin-models');
  const shown = LINE_AMOUNTS.filter((name) => hasUnits || !OF_UNITS.has(name) || line.amounts[name] !== '');
  return (
    <Card withBorder p="sm">
      <Group gap="xs" wrap="nowrap" align="flex-end">
        <TextInput
          label={t('price.lineWhen', { place })}
          placeholder="mode=pro, seconds=5/10"
          flex={1}
          miw={0}
          spellCheck={false}
          error={parseWhen(line.when) === undefined ? t('price.whenInvalid') : undefined}
          value={line.when}
          onChange={(event) => onChange({ when: event.currentTarget.value })}
        />
        <ActionIcon aria-label={t('price.removeLine', { place })} onClick={onRemove} mb={6}>
          <IconTrash size={16} />
        </ActionIcon>
      </Group>
      <SimpleGrid cols={{ base: 1, xs: 3 }} mt="xs">
        {shown.map((name) => {
          const Input = COUNTS.has(name) ? NumberInput : AmountInput;
          return (
            <Input
              key={name}
              size="xs"
              label={t(`price.amounts.${name}`)}
              min={0}
              decimalScale={12}
              hideControls
              value={line.amounts[name]}
              onChange={(value) => onChange({ amounts: { ...line.amounts, [name]: value } })}
            />
          );
        })}
      </SimpleGrid>
    </Card>
  );
}
