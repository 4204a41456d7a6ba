export const trunks = {
  'trunks.addresses': 'Addresses',
  'trunks.none': 'No trunk is configured, and no call was seen.',
  'trunks.count': { one: 'One trunk', other: '{n} trunks' },
  'trunks.no_calls': 'No call used it in the last 24 hours.',
  'trunks.all_calls': 'All of its calls',
  'trunks.day_calls': { one: 'One call in the last 24 hours', other: '{n} calls in the last 24 hours' },
  'trunks.day': 'Attempts per hour, last 24 hours',
  'trunks.figures': 'Figures of the last 24 hours',
  'trunks.failures': 'Failures by code',
  'trunks.no_failures': 'None.',
};
