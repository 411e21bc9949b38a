import { Skeleton, Stack } from '@mantine/core';
import { IconAdjustmentsHorizontal, IconVolume, IconVolumeOff } from '@tabler/icons-react';
import { lazy, type ReactNode, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { STANDARD_FIELDS } from '../../../contract/video.ts';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import type { UsableModel } from '../../data/self.ts';
import type { Property } from './advanced-fields.tsx';
import { COUNTS, controlsFor, type Draft, type DurationRange, toCount } from './draft.ts';

interface ParametersProps {
  readonly model: UsableModel;
  readonly draft: Draft;
  readonly onChange: (change: Partial<Draft>) => void;
}

interface ParameterChipsProps extends ParametersProps {
  readonly isExpanded: boolean;
  readonly onExpand: (isExpanded: boolean) => void;
}

/** One chip for each parameter the model supports; less common ones are behind the last chip. */
export function ParameterChips({ model, draft, onChange, isExpanded, onExpand }: ParameterChipsProps) {
  const { t } = useTranslation('studio');
  const can = controlsFor(model, draft);
  const hasSound = draft.audio ?? true;
  return (
    <>
      {can.seconds === undefined ? null : (
        <DurationChip
          can={can.seconds}
          value={draft.seconds ?? can.seconds.default}
          onChange={(seconds) => onChange({ seconds })}
        />
      )}
      <ChoiceChip
        label={t('ratio')}
        values={can.ratios}
        value={draft.ratio}
        auto={t('autoRatio')}
        onChange={(ratio) => onChange({ ratio })}
      />
      <ChoiceChip
        label={t('resolution')}
        values={can.resolutions}
        value={draft.resolution}
        auto={t('autoResolution')}
        onChange={(resolution) => onChange({ resolution })}
      />
      <ChoiceChip
        label={t('size')}
        values={can.sizes}
        value={draft.size}
        auto={t('autoSize')}
        onChange={(size) => onChange({ size })}
      />
      <ChoiceChip
        label={t('mode')}
        values={can.modes}
        value={draft.mode}
        show={(mode) => t(`modes.${mode as 'std'}`, { defaultValue: mode })}
        onChange={(mode) => onChange({ mode })}
      />
      {can.audio ? (
        <button
          type="button"
          className="chip"
          aria-pressed={hasSound}
          aria-label={t('soundOn')}
          onClick={() => onChange({ audio: !hasSound })}
        >
          {hasSound ? <IconVolume size={16} /> : <IconVolumeOff size={16} />}
          {t(hasSound ? 'soundOn' : 'soundOff')}
        </button>
      ) : null}
      {draft.compare.length > 0 ? null : (
        <SegmentedControl
          className="count"
          size="xs"
          aria-label={t('count')}
          data={COUNTS.map((count) => ({ value: String(count), label: `×${count}` }))}
          value={String(draft.count)}
          onChange={(count) => onChange({ count: toCount(Number(count)) })}
        />
      )}
      <button
        type="button"
        className="chip"
        aria-expanded={isExpanded}
        aria-controls="advanced"
        onClick={() => onExpand(!isExpanded)}
      >
        <IconAdjustmentsHorizontal size={16} />
        {t('advanced')}
      </button>
    </>
  );
}

interface DurationProps {
  readonly can: DurationRange;
  readonly value: number;
  readonly onChange: (seconds: number) => void;
}

function DurationChip({ can, value, onChange }: DurationProps) {
  const { t } = useTranslation('studio');
  const values = 'values' in can ? can.values : Array.from({ length: can.max - can.min + 1 }, (_, i) => can.min + i);
  if (values.length < 2) return null;
  return (
    <ChoiceChip
      label={t('length')}
      values={values.map(String)}
      value={String(value)}
      show={(each) => t('secondsShort', { seconds: each })}
      onChange={(each) => onChange(Number(each))}
    />
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly values: readonly string[];
  readonly value: string;
  /** Offers the model's default as a choice, under this name. */
  readonly auto?: string;
  readonly show?: (value: string) => ReactNode;
  readonly onChange: (value: string) => void;
}

/** A native select: no script, the keys of the platform, and its own picker on phones. */
function ChoiceChip({ label, values, value, auto, show = (each) => each, onChange }: ChoiceProps) {
  if (values.length === 0) return null;
  return (
    <select
      className="chip"
      aria-label={label}
      title={label}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    >
      {auto === undefined ? null : <option value="">{auto}</option>}
      {values.map((each) => (
        <option key={each} value={each}>
          {show(each)}
        </option>
      ))}
    </select>
  );
}

const AdvancedFields = lazy(async () => ({ default: (await import('./advanced-fields.tsx')).AdvancedFields }));

/** Parameters of the model's media schema and, on request, the less common ones. */
export function MoreParameters({ model, draft, onChange, isExpanded }: ParametersProps & { isExpanded: boolean }) {
  return (
    <Stack gap="md" id="advanced">
      <MediaSchemaFields schema={model.input_schema} values={draft.extra} onChange={(extra) => onChange({ extra })} />
      {isExpanded ? (
        <Suspense fallback={<Skeleton h={220} mt="xs" />}>
          <AdvancedFields model={model} draft={draft} onChange={onChange} />
        </Suspense>
      ) : null}
    </Stack>
  );
}

const JsonSchemaPropertyInput = lazy(async () => ({
  default: (await import('./advanced-fields.tsx')).JsonSchemaPropertyInput,
}));

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
