import {
  ActionIcon,
  Autocomplete,
  Button,
  Card,
  Collapse,
  Group,
  Paper,
  Select,
  SimpleGrid,
  Stack,
  TagsInput,
  Text,
  TextInput,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown, IconChevronRight, IconPlus, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { ModelKind } from '../../../../contract/model-kinds.ts';
import { AmountInput } from '../../../components/limit-fields.tsx';
import { NumberField } from '../../../components/number-field.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import {
  type ConditionFormValues,
  DECIMALS,
  emptyLine,
  FACTS,
  LINE_AMOUNTS,
  type MultiplierFormValues,
  type PriceFormValues,
  type PriceLineFormValues,
  type RateFormValues,
  type RateName,
  type TierFormValues,
  TOKEN_PART_NAMES,
} from './model-form-values.ts';

interface PriceFieldsProps {
  readonly kind: ModelKind;
  readonly draft: PriceFormValues;
  readonly onChange: (draft: PriceFormValues) => void;
}

/** Factors the vendors' adapters report; others can be typed, but never apply. */
const FACTORS = ['mode', 'resolution', 'size', 'audio'];

/** Inputs of a price, by the kind of the model. */
export function PriceFields({ kind, draft, onChange }: PriceFieldsProps) {
  const { t } = useTranslation('admin-channels');
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

/**
 * Switches between the two forms of a price. A price with lines has at least one; values typed in the other form are
 * kept until saving.
 */
const toForm = (draft: PriceFormValues, isLined: boolean): PriceFormValues => ({
  ...draft,
  isLined,
  settleBy: isLined ? draft.settleBy : 'request',
  lines: isLined && draft.lines.length === 0 ? [emptyLine(1)] : draft.lines,
});

interface MultiplierRowProps {
  /** 1-based, for the labels. */
  readonly place: number;
  readonly multiplier: MultiplierFormValues;
  readonly onChange: (part: Partial<MultiplierFormValues>) => void;
  readonly onRemove: () => void;
}

function MultiplierRow({ place, multiplier: { factor, value, by }, onChange, onRemove }: MultiplierRowProps) {
  const { t } = useTranslation('admin-channels');
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
      <NumberField
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

interface TokenPriceFieldsProps {
  readonly draft: PriceFormValues;
  readonly onChange: (draft: PriceFormValues) => void;
}

const NO_RATES = Object.fromEntries(
  ['input', 'output', ...TOKEN_PART_NAMES].map((name) => [name, '']),
) as unknown as RateFormValues;

/** Price of a chat model: input and output, with the separately priced parts behind a button. */
function TokenPriceFields({ draft, onChange }: TokenPriceFieldsProps) {
  const { t } = useTranslation('admin-channels');
  const { rates, tiers } = draft;
  const isDetailed =
    tiers.length > 0 || Number(draft.perCall) > 0 || TOKEN_PART_NAMES.some((part) => rates[part] !== '');
  const [isOpen, { toggle }] = useDisclosure(isDetailed);
  const Chevron = isOpen ? IconChevronDown : IconChevronRight;
  return (
    <Stack gap="sm">
      <RateInputs
        names={['input', 'output']}
        rates={rates}
        onChange={(part) => onChange({ ...draft, rates: { ...rates, ...part } })}
      />
      <div>
        <Button
          variant="subtle"
          size="compact-sm"
          leftSection={<Chevron size={14} />}
          aria-expanded={isOpen}
          onClick={toggle}
        >
          {t('price.details')}
        </Button>
      </div>
      <Collapse expanded={isOpen}>
        <Stack gap="sm">
          <Text size="xs" c="dimmed">
            {t('price.partsHint')}
          </Text>
          <RateInputs
            names={TOKEN_PART_NAMES}
            rates={rates}
            onChange={(part) => onChange({ ...draft, rates: { ...rates, ...part } })}
          />
          <AmountInput
            label={t('price.perCallFee')}
            max={1e6}
            decimalScale={DECIMALS}
            value={draft.perCall}
            onChange={(perCall) => onChange({ ...draft, perCall })}
          />
          <TierFields draft={draft} onChange={onChange} />
        </Stack>
      </Collapse>
    </Stack>
  );
}

/** Rates for calls with a long input. */
function TierFields({ draft, onChange }: TokenPriceFieldsProps) {
  const { t } = useTranslation('admin-channels');
  const { tiers } = draft;
  const changeTier = (key: number, part: Partial<TierFormValues>): void =>
    onChange({ ...draft, tiers: tiers.map((tier) => (tier.key === key ? { ...tier, ...part } : tier)) });
  const addTier = (): void => {
    const key = Math.max(0, ...tiers.map((tier) => tier.key)) + 1;
    onChange({ ...draft, tiers: [...tiers, { ...NO_RATES, key, above: 200_000 }] });
  };
  return (
    <>
      <Text size="sm" fw={600}>
        {t('price.tiers')}
      </Text>
      <Text size="xs" c="dimmed" mt={-8}>
        {t('price.tiersHint')}
      </Text>
      {tiers.map((tier, index) => (
        <Paper key={tier.key} withBorder p="sm" radius="md">
          <Group gap="xs" align="flex-end" mb="xs">
            <NumberField
              label={t('price.aboveTokens')}
              min={1}
              max={1e8}
              allowDecimal={false}
              thousandSeparator
              hideControls
              flex={1}
              value={tier.above}
              onChange={(above) => changeTier(tier.key, { above })}
            />
            <ActionIcon
              mb={4}
              aria-label={t('price.removeTier', { place: index + 1 })}
              onClick={() => onChange({ ...draft, tiers: tiers.filter((each) => each !== tier) })}
            >
              <IconTrash size={16} />
            </ActionIcon>
          </Group>
          <RateInputs
            names={['input', 'output', 'cached_input']}
            rates={tier}
            onChange={(part) => changeTier(tier.key, part)}
          />
        </Paper>
      ))}
      <div>
        <Button variant="default" size="compact-sm" leftSection={<IconPlus size={14} />} onClick={addTier}>
          {t('price.addTier')}
        </Button>
      </div>
    </>
  );
}

interface RateInputsProps {
  readonly names: readonly RateName[];
  readonly rates: RateFormValues;
  readonly onChange: (part: Partial<Record<RateName, number | string>>) => void;
}

function RateInputs({ names, rates, onChange }: RateInputsProps) {
  const { t } = useTranslation('admin-channels');
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      {names.map((name) => (
        <AmountInput
          key={name}
          label={t(`price.rates.${name}`)}
          max={1e6}
          decimalScale={DECIMALS}
          value={rates[name]}
          onChange={(value) => onChange({ [name]: value })}
        />
      ))}
    </SimpleGrid>
  );
}

interface PriceLineFieldsProps {
  readonly draft: PriceFormValues;
  readonly onChange: (draft: PriceFormValues) => void;
}

/** Lines of a price that depends on facts; the first line with a matching condition is charged. */
function PriceLinesEditor({ draft, onChange }: PriceLineFieldsProps) {
  const { t } = useTranslation('admin-channels');
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
  /** 1-based, for the labels. */
  readonly place: number;
  readonly line: PriceLineFormValues;
  readonly hasUnits: boolean;
  readonly onChange: (part: Partial<PriceLineFormValues>) => void;
  readonly onRemove: () => void;
}

/** Line amounts that are not money: numbers of reserved units. */
const COUNTS: ReadonlySet<string> = new Set(['max_units', 'max_units_per_second']);
const OF_UNITS: ReadonlySet<string> = new Set(['per_unit', ...COUNTS]);
/** Amounts shown from the start, besides those that are set. */
const USUAL: ReadonlySet<string> = new Set(['per_second', 'per_call']);

function LineCard({ place, line, hasUnits, onChange, onRemove }: LineCardProps) {
  const { t } = useTranslation('admin-channels');
  const [filled] = useState(() => new Set<string>(LINE_AMOUNTS.filter((name) => line.amounts[name] !== '')));
  const [hasAll, { open: showAll }] = useDisclosure(false);
  const shown = LINE_AMOUNTS.filter(
    (name) =>
      filled.has(name) ||
      (hasUnits ? hasAll || OF_UNITS.has(name) : USUAL.has(name) || (hasAll && !OF_UNITS.has(name))),
  );
  return (
    <Card withBorder p="sm">
      <Group gap="xs" wrap="nowrap" justify="space-between">
        <Text size="sm" fw={600}>
          {t('price.line', { place })}
        </Text>
        <ActionIcon aria-label={t('price.removeLine', { place })} onClick={onRemove}>
          <IconTrash size={16} />
        </ActionIcon>
      </Group>
      <ConditionsEditor
        place={place}
        conditions={line.conditions}
        onChange={(conditions) => onChange({ conditions })}
      />
      <SimpleGrid cols={{ base: 1, xs: 3 }} mt="xs">
        {shown.map((name) => {
          const Input = COUNTS.has(name) ? NumberField : AmountInput;
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
      {hasAll ? null : (
        <Button variant="subtle" color="gray" size="compact-xs" mt="xs" onClick={showAll}>
          {t('price.moreAmounts')}
        </Button>
      )}
    </Card>
  );
}

/** Values to choose from; others can be typed, except for yes and no. */
const SUGGESTED_VALUES: Readonly<Record<string, readonly string[]>> = {
  seconds: ['5', '10'],
  resolution: ['480p', '720p', '1080p', '4k'],
  ratio: ['16:9', '9:16', '1:1'],
  mode: ['std', 'pro'],
  audio: ['true', 'false'],
  input_video: ['true', 'false'],
  input_images: ['0', '1', '2'],
};
const IS_YES_OR_NO: ReadonlySet<string> = new Set(['audio', 'input_video']);

interface ConditionsEditorProps {
  /** Number of the line, for the labels. */
  readonly place: number;
  readonly conditions: readonly ConditionFormValues[];
  readonly onChange: (conditions: readonly ConditionFormValues[]) => void;
}

/** The conditions of a line, each a fact with the values it may have; each fact is tested once. */
function ConditionsEditor({ place, conditions, onChange }: ConditionsEditorProps) {
  const { t } = useTranslation('admin-channels');
  const change = (key: number, part: Partial<ConditionFormValues>): void =>
    onChange(conditions.map((each) => (each.key === key ? { ...each, ...part } : each)));
  const used = new Set(conditions.map(({ fact }) => fact));
  const free = FACTS.find((fact) => !used.has(fact));
  const factName = (fact: string): string => t(`price.facts.${fact as 'mode'}`, { defaultValue: fact });
  return (
    <Stack gap="xs">
      {conditions.length === 0 ? (
        <Text size="xs" c="dimmed">
          {t('price.always')}
        </Text>
      ) : null}
      {conditions.map((condition) => (
        <ConditionRow
          key={condition.key}
          condition={condition}
          facts={[...new Set([condition.fact, ...FACTS])]
            .filter((fact) => fact === condition.fact || !used.has(fact))
            .map((fact) => ({ value: fact, label: factName(fact) }))}
          labels={{
            fact: t('price.factOf', { place }),
            values: t('price.valuesOf', { fact: factName(condition.fact), place }),
            remove: t('price.removeCondition', { fact: factName(condition.fact), place }),
          }}
          onChange={(part) => change(condition.key, part)}
          onRemove={() => onChange(conditions.filter((each) => each !== condition))}
        />
      ))}
      {free === undefined ? null : (
        <div>
          <Button
            variant="subtle"
            size="compact-xs"
            leftSection={<IconPlus size={12} />}
            aria-label={t('price.addConditionTo', { place })}
            onClick={() => {
              const key = Math.max(0, ...conditions.map((each) => each.key)) + 1;
              onChange([...conditions, { key, fact: free, values: [] }]);
            }}
          >
            {t('price.addCondition')}
          </Button>
        </div>
      )}
    </Stack>
  );
}

interface ConditionRowProps {
  readonly condition: ConditionFormValues;
  readonly facts: readonly { readonly value: string; readonly label: string }[];
  readonly labels: { readonly fact: string; readonly values: string; readonly remove: string };
  readonly onChange: (part: Partial<ConditionFormValues>) => void;
  readonly onRemove: () => void;
}

function ConditionRow({ condition: { fact, values }, facts, labels, onChange, onRemove }: ConditionRowProps) {
  const { t } = useTranslation('admin-channels');
  const error = values.length === 0 ? t('price.valueMissing') : undefined;
  const yesOrNo = (['true', 'false'] as const).map((value) => ({ value, label: t(`price.boolean.${value}`) }));
  return (
    <Group gap="xs" align="flex-start">
      <Select
        aria-label={labels.fact}
        w={{ base: '100%', xs: 150 }}
        data={facts}
        value={fact}
        allowDeselect={false}
        onChange={(next) => onChange({ fact: next ?? fact, values: [] })}
      />
      {IS_YES_OR_NO.has(fact) && values.length < 2 ? (
        <Select
          aria-label={labels.values}
          flex={1}
          miw={0}
          data={yesOrNo}
          value={values[0] ?? null}
          error={error}
          allowDeselect={false}
          onChange={(value) => onChange({ values: value === null ? [] : [value] })}
        />
      ) : (
        <TagsInput
          aria-label={labels.values}
          placeholder={values.length === 0 ? t('price.valuesPlaceholder') : ''}
          flex={1}
          miw={0}
          data={[...(SUGGESTED_VALUES[fact] ?? [])]}
          value={[...values]}
          error={error}
          onChange={(next) => onChange({ values: next })}
          splitChars={[',', ' ', '/']}
          acceptValueOnBlur
        />
      )}
      <ActionIcon aria-label={labels.remove} onClick={onRemove} mt={6}>
        <IconTrash size={16} />
      </ActionIcon>
    </Group>
  );
}
