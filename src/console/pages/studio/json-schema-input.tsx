import { NumberInput, Select, Switch, TextInput } from '@mantine/core';

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
export default function JsonSchemaPropertyInput({ name, property, required, value, onChange }: SchemaFieldProps) {
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
