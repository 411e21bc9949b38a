import { ActionIcon, JsonInput, Select, Stack, Switch, Textarea, TextInput } from '@mantine/core';
import { IconDice5 } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { NumberField } from '../../components/number-field.tsx';
import type { UsableModel } from '../../data/self.ts';
import { controlsFor, type Draft } from './draft.ts';

/** A text area that measures its content, for browsers that cannot size it by CSS. */
export const AutosizeTextarea = Textarea;

interface AdvancedFieldsProps {
  readonly model: UsableModel;
  readonly draft: Draft;
  readonly onChange: (change: Partial<Draft>) => void;
}

/** Less common parameters: negative prompt, seed, and parameters by the vendor's names. */
export function AdvancedFields({ model, draft, onChange }: AdvancedFieldsProps) {
  const { t } = useTranslation('studio');
  const can = controlsFor(model, draft);
  const dice = (
    <ActionIcon
      aria-label={t('randomSeed')}
      onClick={() => onChange({ seed: String(Math.floor(Math.random() * 2_147_483_647)) })}
    >
      <IconDice5 size={16} />
    </ActionIcon>
  );
  return (
    <Stack gap="md" pt="xs">
      {can.negative ? (
        <Textarea
          label={t('negative')}
          autosize
          value={draft.negative}
          onChange={(event) => onChange({ negative: event.currentTarget.value })}
          minRows={1}
          maxRows={4}
          maxLength={2500}
        />
      ) : null}
      {can.seed ? (
        <TextInput
          label={t('seed')}
          description={t('seedHint')}
          inputMode="numeric"
          value={draft.seed}
          onChange={(event) => onChange({ seed: event.currentTarget.value.replace(/\D/g, '').slice(0, 10) })}
          rightSection={dice}
        />
      ) : null}
      <JsonInput
        label={t('metadata')}
        description={t('metadataHint')}
        validationError={t('metadataBroken')}
        formatOnBlur
        autosize
        minRows={2}
        maxRows={10}
        value={draft.metadata}
        onChange={(metadata) => onChange({ metadata })}
      />
    </Stack>
  );
}

/** The supported part of a JSON Schema property. */
export interface Property {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

interface SchemaFieldProps {
  readonly name: string;
  readonly property: Property;
  readonly required: boolean;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

/** The input for one property, by its type. */
export function JsonSchemaPropertyInput({ name, property, required, value, onChange }: SchemaFieldProps) {
  const common = { label: property.title ?? name, description: property.description, required };
  if (property.enum !== undefined) {
    const known = new Map(property.enum.map((each) => [toText(each), each]));
    return (
      <Select
        {...common}
        data={[...known.keys()]}
        value={value === undefined ? null : toText(value)}
        clearable={!required}
        onChange={(each) => onChange(each === null ? undefined : known.get(each))}
      />
    );
  }
  if (property.type === 'boolean')
    return (
      <Switch
        label={common.label}
        description={common.description}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  if (property.type === 'integer' || property.type === 'number')
    return (
      <NumberField
        {...common}
        value={typeof value === 'number' ? value : ''}
        allowDecimal={property.type === 'number'}
        min={property.minimum}
        max={property.maximum}
        onChange={(each) => onChange(typeof each === 'number' ? each : undefined)}
      />
    );
  if (property.type === 'string' || property.type === undefined)
    return (
      <TextInput
        {...common}
        value={typeof value === 'string' ? value : ''}
        maxLength={property.maxLength}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  return null;
}
