import { Skeleton } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { STANDARD_FIELDS } from '../../../contract/video.ts';
import type { Property } from './json-schema-property-input.tsx';

const JsonSchemaPropertyInput = lazy(() => import('./json-schema-property-input.tsx'));

interface MediaSchemaFieldsProps {
  /** The model's media schema (JSON Schema), or null. */
  readonly schema: unknown;
  readonly values: Readonly<Record<string, unknown>>;
  readonly onChange: (values: Readonly<Record<string, unknown>>) => void;
}

/** Fields of a model's media schema beyond the common ones: texts, numbers, choices and switches; required ones are marked. */
export function MediaSchemaFields({ schema, values, onChange }: MediaSchemaFieldsProps) {
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
