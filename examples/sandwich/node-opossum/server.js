'use strict';
// A service that sells things at the price that another service tells it. It
// asks with opossum, a circuit breaker with a timeout, and retries around it.
//
//   node server.js         opossum's timeout, as it comes
//   node server.js signal  a signal that ends the call too

const http = require('node:http');
const CircuitBreaker = require('opossum');

const signalled = process.argv[2] === 'signal';
const limit = 300; // ms for an attempt
const prices = process.env.BRUNT_URL_PRICES;

// What an incoming request hands on to the outgoing ones: either tells brunt
// whose request an attempt belongs to.
const forwarded = ['traceparent', 'x-brunt-request'];

// ask is one attempt.
async function ask(incoming) {
  const headers = {};
  for (const name of forwarded) {
    if (incoming[name]) headers[name] = incoming[name];
  }
  const signal = signalled ? AbortSignal.timeout(limit) : undefined;
  const answer = await fetch(prices, { headers, signal });
  const price = await answer.text(); // to its end, or the connection is not used again
  if (!answer.ok) throw new Error(`prices: ${answer.status}`);
  return price;
}

const breaker = new CircuitBreaker(ask, {
  timeout: signalled ? false : limit,
  errorThresholdPercentage: 50,
  volumeThreshold: 5,
  resetTimeout: 500,
  rollingCountTimeout: 1000, // with the 10 s by default, a healthy past outweighs an outage for long
});

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

// retry makes up to three attempts. What the breaker refuses is not tried again.
async function retry(incoming) {
  for (let attempt = 1; ; attempt++) {
    try {
      return await breaker.fire(incoming);
    } catch (err) {
      if (attempt === 3 || err.code === 'EOPENBREAKER') throw err;
      await wait(20);
    }
  }
}

const server = http.createServer((request, response) => {
  request.resume(); // its body is of no interest
  retry(request.headers).then(
    (price) => response.end(price),
    (err) => {
      response.statusCode = err.code === 'EOPENBREAKER' ? 503 : 502;
      response.end(`${err.message}\n`);
    },
  );
});

const [host, port] = process.env.BRUNT_LISTEN.split(':');
server.listen(Number(port), host, 511);
process.on('SIGTERM', () => process.exit(0)); // calls that hang would keep it
