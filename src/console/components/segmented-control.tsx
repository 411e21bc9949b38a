import { Box, type BoxProps } from '@mantine/core';
import { useId } from 'react';

interface SegmentedControlProps<Value extends string> extends Omit<BoxProps, 'className'> {
  readonly className?: string;
  readonly data: readonly { readonly value: Value; readonly label: string }[];
  readonly value: string;
  readonly onChange: (value: Value) => void;
  readonly size?: 'xs' | 'sm';
  /** Stretches to the width of the container. */
  readonly fullWidth?: boolean;
  readonly 'aria-label'?: string;
  readonly 'aria-labelledby'?: string;
}

/**
 * A row of values of which one is selected. Mantine's control measures each value before marking the selected one,
 * which causes two layouts before the first paint; this one is marked with CSS.
 */
export function SegmentedControl<Value extends string>({
  data,
  value,
  onChange,
  size = 'sm',
  fullWidth,
  className = '',
  ...box
}: SegmentedControlProps<Value>) {
  const name = useId();
  return (
    <Box
      className={`segmented ${className}`}
      data-size={size}
      data-full={fullWidth || undefined}
      role="radiogroup"
      {...box}
    >
      {data.map((each) => (
        <label key={each.value}>
          <input
            type="radio"
            name={name}
            value={each.value}
            checked={each.value === value}
            onChange={() => onChange(each.value)}
          />
          <span>{each.label}</span>
        </label>
      ))}
    </Box>
  );
}
