import { ActionIcon, Button, Collapse, Group, NumberInput, Paper, SimpleGrid, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronDown, IconChevronRight, IconPlus, IconTrash } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { AmountInput } from '../../../components/amount-input.tsx';
import {
  DECIMALS,
  type PriceFormValues,
  type RateFormValues,
  type RateName,
  type TierFormValues,
  TOKEN_PART_NAMES,
} from './price-form-values.ts';

interface TokenPriceFieldsProps {
  readonly draft: PriceFormValues;
  readonly onChange: (draft: PriceFormValues) => void;
}

const NO_RATES = Object.fromEntries(
  ['input', 'output', ...TOKEN_PART_NAMES].map((name) => [name, '']),
) as unknown as RateFormValues;

/** The price of a chat model: input and output, and behind a button all that may cost apart. */
export function TokenPriceFields({ draft, onChange }: TokenPriceFieldsProps) {
  const { t } = useTranslation('admin-models');
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

/** Other rates for calls with a long input. */
function TierFields({ draft, onChange }: TokenPriceFieldsProps) {
  const { t } = useTranslation('admin-models');
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
            <NumberInput
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
  const { t } = useTranslation('admin-models');
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
