import { describe, expect, it } from 'vitest';
import { typesOf } from './types.js';

const ref = (name) => ({ $ref: `#/components/schemas/${name}` });
const json = (schema) => ({ description: '', content: { 'application/json': { schema } } });

function types(schemas, paths = {}) {
  return typesOf({ components: { schemas }, paths });
}

describe('the type of a schema', () => {
  const of = (schema) => /export type One = (.*);/.exec(types({ One: schema }))?.[1];

  it('says what may be null, and which values there are', () => {
    expect(of({ type: ['integer', 'null'] })).toBe('number | null');
    expect(of({ type: ['string', 'null'], enum: ['a', 'b', null] })).toBe('"a" | "b" | null');
    expect(of({ oneOf: [ref('Two'), { type: 'null' }] })).toBe('Two | null');
  });

  it('goes into lists and maps', () => {
    expect(of({ type: 'array', items: { type: ['string', 'null'] } })).toBe('Array<string | null>');
    expect(of({ type: 'object', additionalProperties: ref('Two') })).toBe('Record<string, Two>');
  });

  it('is unknown where the document does not say', () => {
    expect(of({ description: 'anything' })).toBe('unknown');
    expect(of({ type: 'object' })).toBe('Record<string, unknown>');
  });

  it('has optional fields, and what is said of them, which cannot end the comment', () => {
    const text = types({ One: { required: ['a'], properties: { a: { type: 'boolean', description: 'x */ y' }, 'b-c': { type: 'null' } } } });
    expect(text).toContain("export interface One {\n  /** x * / y */\n  a: boolean;\n  'b-c'?: null;\n}");
  });

  it('is not guessed', () => {
    expect(() => of({ type: 'date' })).toThrow('a type "date"');
  });
});

describe('the requests', () => {
  const item = {
    get: {
      parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }, { name: 'n', in: 'query', schema: { type: 'integer' } }],
      responses: { 400: json({ type: 'string' }), 200: json(ref('One')) },
    },
    delete: { responses: { 204: { description: '' } } },
    post: { requestBody: { content: json(ref('Two')).content }, responses: { 201: { content: { 'text/csv': {} } } } },
  };
  const text = types({}, { '/api/v1/a/{id}': item });

  it('have their parameters, and the answer of a success', () => {
    expect(text).toMatch(/get: \{\n    '\/a\/\{id\}': \{\n      path: \{ id: string \};\n      query: \{ n\?: number \| null \| undefined \};\n      body: never;\n      answer: One;/);
  });

  it('are told apart by what comes back: nothing, or a file', () => {
    expect(text.slice(text.indexOf('delete: {'))).toContain('body: never;\n      answer: undefined;');
    expect(text).toMatch(/body: Two;\n      answer: never;/);
  });

  it('are below the path that the page asks', () => {
    expect(() => types({}, { '/v2/a': item })).toThrow('/v2/a is not below /api/v1');
  });
});
