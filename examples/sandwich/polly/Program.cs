// A service that sells things at the price that another service tells it. It
// asks with Polly: up to three attempts, a circuit breaker around each, and
// 300 ms for each. Not run here.

using Microsoft.Extensions.Http.Resilience;
using Polly;

var builder = WebApplication.CreateBuilder(args);
builder.WebHost.UseUrls("http://" + Environment.GetEnvironmentVariable("BRUNT_LISTEN"));
builder.Logging.SetMinimumLevel(LogLevel.Error);

builder.Services
    .AddHttpClient("prices", client =>
    {
        client.BaseAddress = new Uri(Environment.GetEnvironmentVariable("BRUNT_URL_PRICES")!);
        client.Timeout = Timeout.InfiniteTimeSpan; // it would be over all attempts
    })
    .AddResilienceHandler("prices", pipeline => pipeline
        // The outermost first. What the breaker refuses is not retried by default.
        .AddRetry(new HttpRetryStrategyOptions
        {
            MaxRetryAttempts = 2,
            BackoffType = DelayBackoffType.Constant,
            Delay = TimeSpan.FromMilliseconds(20),
        })
        .AddCircuitBreaker(new HttpCircuitBreakerStrategyOptions
        {
            FailureRatio = 0.5,
            MinimumThroughput = 10,
            SamplingDuration = TimeSpan.FromSeconds(1),
            BreakDuration = TimeSpan.FromMilliseconds(500),
        })
        .AddTimeout(TimeSpan.FromMilliseconds(300)));

var app = builder.Build();

// No header is handed on by hand: ASP.NET Core and HttpClient carry traceparent.
app.MapGet("/", async (IHttpClientFactory clients, CancellationToken left) =>
{
    try
    {
        using var answer = await clients.CreateClient("prices").GetAsync("", left);
        answer.EnsureSuccessStatusCode();
        return Results.Text(await answer.Content.ReadAsStringAsync(left));
    }
    catch (Exception e) when (e is HttpRequestException or ExecutionRejectedException)
    {
        return Results.Text(e.Message, statusCode: StatusCodes.Status502BadGateway);
    }
});

app.Run();
