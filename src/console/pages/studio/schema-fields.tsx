import { NumberInput, Select, Switch, TextInput } from '@mantine/core';
import { STANDARD_FIELDS } from '../../../contract/generation-fields.ts';

interface Property {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
}

interface SchemaFieldsProps {
  /** The model's media schema (JSON Schema), or null. */
  readonly schema: unknown;
  readonly values: Readonly<Record<string, unknown>>;
  readonly onChange: (values: Readonly<Record<string, unknown>>) => void;
}

/** Fields of a model's media schema beyond the common ones: texts, numbers, choices and switches; required ones are marked. */
export function SchemaFields({ schema, values, onChange }: SchemaFieldsProps) {
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
      <SchemaField
        key={name}
        name={name}
        property={property}
        required={required.includes(name)}
        value={values[name] ?? property.default}
        onChange={(value) => set(name, value)}
      />
    ));
}

const toText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

interface SchemaFieldProps {
  readonly name: string;
  readonly property: Property;
  readonly required: boolean;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

function SchemaField({ name, property, required, value, onChange }: SchemaFieldProps) {
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
      <NumberInput
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
