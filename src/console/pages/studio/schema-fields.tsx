import { NumberInput, Select, Switch, TextInput } from '@mantine/core';

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

/** What the form draws by itself already. */
const KNOWN = new Set([
  'model',
  'prompt',
  'image',
  'images',
  'duration',
  'seconds',
  'size',
  'mode',
  'input_reference',
  'metadata',
]);

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
    .filter(([name]) => !KNOWN.has(name))
    .map(([name, property]) => (
      <Field
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

interface FieldProps {
  readonly name: string;
  readonly property: Property;
  readonly required: boolean;
  readonly value: unknown;
  readonly onChange: (value: unknown) => void;
}

function Field({ name, property, required, value, onChange }: FieldProps) {
  const around = { label: property.title ?? name, description: property.description, required };
  if (property.enum !== undefined) {
    const known = new Map(property.enum.map((each) => [toText(each), each]));
    return (
      <Select
        {...around}
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
        label={around.label}
        description={around.description}
        checked={value === true}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
    );
  if (property.type === 'integer' || property.type === 'number')
    return (
      <NumberInput
        {...around}
        value={typeof value === 'number' ? value : ''}
        allowDecimal={property.type === 'number'}
        {...(property.minimum === undefined ? {} : { min: property.minimum })}
        {...(property.maximum === undefined ? {} : { max: property.maximum })}
        onChange={(each) => onChange(typeof each === 'number' ? each : undefined)}
      />
    );
  if (property.type === 'string' || property.type === undefined)
    return (
      <TextInput
        {...around}
        value={typeof value === 'string' ? value : ''}
        {...(property.maxLength === undefined ? {} : { maxLength: property.maxLength })}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  return null;
}
