import { Box, Group, Input, NativeSelect, Skeleton, Slider, Stack, Switch, Text, UnstyledButton } from '@mantine/core';
import { IconChevronRight } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { STANDARD_FIELDS } from '../../../contract/video.ts';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import type { UsableModel } from '../../data/models.ts';
import { controlsFor, type Draft, type DurationRange } from './draft.ts';
import type { Property } from './json-schema-input.tsx';

interface ParametersProps {
  readonly model: UsableModel;
  readonly draft: Draft;
  readonly onChange: (change: Partial<Draft>) => void;
}

/** Controls for exactly the parameters the model supports; less common ones are collapsed. */
export function ParameterControls({ model, draft, onChange }: ParametersProps) {
  const { t } = useTranslation('studio');
  const can = controlsFor(model, draft);
  return (
    <Stack gap="md">
      {can.seconds === undefined ? null : (
        <DurationField
          can={can.seconds}
          value={draft.seconds ?? can.seconds.default}
          onChange={(seconds) => onChange({ seconds })}
        />
      )}
      <ChoiceField
        label={t('ratio')}
        values={can.ratios}
        value={draft.ratio}
        auto
        onChange={(ratio) => onChange({ ratio })}
      />
      <ChoiceField
        label={t('resolution')}
        values={can.resolutions}
        value={draft.resolution}
        auto
        onChange={(resolution) => onChange({ resolution })}
      />
      <ChoiceField
        label={t('size')}
        values={can.sizes}
        value={draft.size}
        auto
        onChange={(size) => onChange({ size })}
      />
      <ChoiceField
        label={t('mode')}
        values={can.modes}
        value={draft.mode}
        show={(mode) => t(`modes.${mode as 'std'}`, { defaultValue: mode })}
        onChange={(mode) => onChange({ mode })}
      />
      {can.audio ? (
        <Switch
          label={t('soundOn')}
          checked={draft.audio ?? true}
          onChange={(event) => onChange({ audio: event.currentTarget.checked })}
        />
      ) : null}
      <MediaSchemaFields schema={model.input_schema} values={draft.extra} onChange={(extra) => onChange({ extra })} />
      <Advanced model={model} draft={draft} onChange={onChange} />
    </Stack>
  );
}

function DurationField({
  can,
  value,
  onChange,
}: {
  can: DurationRange;
  value: number;
  onChange: (seconds: number) => void;
}) {
  const { t } = useTranslation('studio');
  if ('values' in can) {
    if (can.values.length < 2) return null;
    return (
      <ChoiceField
        label={t('length')}
        values={can.values.map(String)}
        value={String(value)}
        show={(each) => t('secondsShort', { seconds: each })}
        onChange={(each) => onChange(Number(each))}
      />
    );
  }
  return (
    <Input.Wrapper label={`${t('length')}: ${t('secondsShort', { seconds: value })}`} labelElement="div">
      <Slider
        min={can.min}
        max={can.max}
        value={value}
        onChange={onChange}
        mt={6}
        mb="lg"
        label={(each) => t('secondsShort', { seconds: each })}
        marks={[can.min, can.max].map((each) => ({ value: each, label: String(each) }))}
        thumbLabel={t('length')}
      />
    </Input.Wrapper>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly values: readonly string[];
  readonly value: string;
  /** Offers the model's default as a choice. */
  readonly auto?: boolean;
  readonly show?: (value: string) => string;
  readonly onChange: (value: string) => void;
}

/** Shows a few values as segments, many as a select. */
function ChoiceField({ label, values, value, auto = false, show = (each) => each, onChange }: ChoiceProps) {
  const { t } = useTranslation('studio');
  if (values.length === 0) return null;
  const data = [
    ...(auto ? [{ value: '', label: t('auto') }] : []),
    ...values.map((each) => ({ value: each, label: show(each) })),
  ];
  const long = data.length > 6 || data.some((each) => each.label.length > 8);
  return long ? (
    <NativeSelect label={label} data={data} value={value} onChange={(event) => onChange(event.currentTarget.value)} />
  ) : (
    <Input.Wrapper label={label} labelElement="div">
      <Box>
        <SegmentedControl
          aria-label={label}
          data={data}
          value={value}
          onChange={onChange}
          size="sm"
          mt={4}
          maw="100%"
          style={{ overflowX: 'auto' }}
        />
      </Box>
    </Input.Wrapper>
  );
}

const AdvancedFields = lazy(() => import('./advanced-fields.tsx'));

function Advanced({ model, draft, onChange }: ParametersProps) {
  const { t } = useTranslation('studio');
  const [opened, setOpened] = useState(draft.negative !== '' || draft.seed !== '' || draft.metadata !== '');
  return (
    <div>
      <UnstyledButton onClick={() => setOpened(!opened)} aria-expanded={opened} py={4}>
        <Group gap={4}>
          <IconChevronRight
            size={16}
            style={{ transform: opened ? 'rotate(90deg)' : 'none', transition: 'transform 120ms' }}
          />
          <Text size="sm" fw={500}>
            {t('advanced')}
          </Text>
        </Group>
      </UnstyledButton>
      {opened ? (
        <Suspense fallback={<Skeleton h={220} mt="xs" />}>
          <AdvancedFields model={model} draft={draft} onChange={onChange} />
        </Suspense>
      ) : null}
    </div>
  );
}

const JsonSchemaPropertyInput = lazy(() => import('./json-schema-input.tsx'));

interface MediaSchemaFieldsProps {
  /** The model's media schema (JSON Schema), or null. */
  readonly schema: unknown;
  readonly values: Readonly<Record<string, unknown>>;
  readonly onChange: (values: Readonly<Record<string, unknown>>) => void;
}

/**
 * Inputs for media schema properties beyond the common ones: texts, numbers, choices and switches; required ones are
 * marked.
 */
function MediaSchemaFields({ schema, values, onChange }: MediaSchemaFieldsProps) {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, Property>>;
    readonly required?: readonly string[];
  };
  const set = (name: string, value: unknown): void => {
    const { [name]: _, ...rest } = values;
    onChange(value === '' || value === undefined ? rest : { ...rest, [name]: value });
  };
  return Object.entries(properties)
    .filter(([name]) => !STANDARD_FIELDS.has(name))
    .map(([name, property]) => (
      <Suspense key={name} fallback={<Skeleton h={60} />}>
        <JsonSchemaPropertyInput
          name={name}
          property={property}
          required={required.includes(name)}
          value={values[name] ?? property.default}
          onChange={(value) => set(name, value)}
        />
      </Suspense>
    ));
}
